// SPDX-License-Identifier: Apache-2.0
// Weft's flow model against SimGrid: the same fat tree, routes and flows, both from this one
// program.
//
//   build/bench/simgrid_peer random | permutations | poisson
//
// Prints the CPU time of each (whole run: platform or model, flows, to the last byte), their ratio,
// and by how much completion times differ. SimGrid runs as its model CM02 with all factors 1 and no
// cross traffic: plain max-min shares of bandwidth. Links take no time, since SimGrid weighs shares
// by round-trip time otherwise. Routes are by pair of hosts there, so here two flows of one pair
// take one path as well. One driving actor starts all flows at their times.
#include <fmt/format.h>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/random.hpp"
#include "network/flow/flow_model.hpp"
#include "network/max_min/max_min_solver.hpp"
#include "tests/network/routing/fat_tree_paths.hpp"

namespace weft {
namespace {

constexpr double rate_bps = 100e9;

struct PeerFlow {
  Time start;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::int64_t bytes = 0;
};

/// Flows in order of their start, and one path for each pair of hosts that has any.
struct PeerCase {
  std::string name;
  FatTreePaths tree{16};
  std::vector<PeerFlow> flows = {};
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<LinkId>> paths = {};

  void add(const PeerFlow& flow, RandomStream& random) {
    flows.push_back(flow);
    auto& path = paths[{flow.source, flow.destination}];
    if (path.empty()) path = tree.path(flow.source, flow.destination, random);
  }
};

struct PeerResult {
  double cpu_s = 0;
  std::vector<double> finish_s;  ///< by flow
};

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

PeerResult run_weft(const PeerCase& peer) {
  PeerResult result;
  result.finish_s.resize(peer.flows.size());
  const double begin_s = cpu_s();
  MaxMinSolver::Options options;
  options.threads = 1;
  FlowModel model(std::make_unique<MaxMinSolver>(std::vector<double>(peer.tree.links(), rate_bps), options));
  std::vector<FlowCompletion> done;
  for (std::size_t next = 0;;) {
    const Time start = next < peer.flows.size() ? peer.flows[next].start : Time::max();
    const Time now = std::min(start, model.next_completion());
    if (now == Time::max()) break;
    done.clear();
    model.take_completions(now, done);
    for (const FlowCompletion& completion : done) result.finish_s[completion.owner] = now.in_s();
    for (; next < peer.flows.size() && peer.flows[next].start == now; ++next) {
      const PeerFlow& flow = peer.flows[next];
      FlowRequest request{peer.paths.at({flow.source, flow.destination}), Bytes::of(flow.bytes)};
      request.owner = next;
      model.start(request);
    }
    model.settle(now);
  }
  result.cpu_s = cpu_s() - begin_s;
  return result;
}

PeerResult run_simgrid(const PeerCase& peer) {
  namespace sg = simgrid::s4u;
  PeerResult result;
  result.finish_s.resize(peer.flows.size());
  const double begin_s = cpu_s();
  sg::Engine* const engine = sg::Engine::get_instance();
  sg::NetZone* const zone = sg::create_full_zone("fat_tree");
  std::vector<sg::Host*> hosts;
  for (std::uint32_t i = 0; i < peer.tree.hosts(); ++i) hosts.push_back(zone->create_host(fmt::format("h{}", i), 1e9)->seal());
  std::vector<sg::Link*> links;
  for (std::uint32_t i = 0; i < peer.tree.links(); ++i) {
    links.push_back(zone->create_link(fmt::format("l{}", i), rate_bps / 8)->set_latency(0)->seal());
  }
  for (const auto& [pair, path] : peer.paths) {
    std::vector<sg::LinkInRoute> route;
    for (const LinkId link : path) route.emplace_back(links[link.index()]);
    zone->add_route(hosts[pair.first]->get_netpoint(), hosts[pair.second]->get_netpoint(), nullptr, nullptr, route, false);
  }
  zone->seal();
  sg::Actor::create("driver", hosts[0], [&] {
    std::vector<sg::CommPtr> comms;
    for (const PeerFlow& flow : peer.flows) {
      if (flow.start.in_s() > sg::Engine::get_clock()) sg::this_actor::sleep_until(flow.start.in_s());
      comms.push_back(sg::Comm::sendto_async(hosts[flow.source], hosts[flow.destination], static_cast<std::uint64_t>(flow.bytes)));
    }
    for (std::size_t i = 0; i < comms.size(); ++i) {
      comms[i]->wait();
      result.finish_s[i] = comms[i]->get_finish_time();
    }
  });
  engine->run();
  result.cpu_s = cpu_s() - begin_s;
  return result;
}

PeerCase random_flows() {
  PeerCase peer{"4,096 random flows of distinct sizes at once"};
  RandomStream random(1, 0, 0);
  for (std::int64_t i = 0; i < 4096; ++i) {
    const auto source = static_cast<std::uint32_t>(random.below(peer.tree.hosts()));
    const auto offset = static_cast<std::uint32_t>(random.below(peer.tree.hosts() - 1));
    peer.add({Time::zero(), source, (source + 1 + offset) % peer.tree.hosts(), 10'000'000 + 1'000 * i}, random);
  }
  return peer;
}

PeerCase permutations() {
  PeerCase peer{"ten permutations of 10 MB at once"};
  RandomStream random(2, 0, 0);
  for (int permutation = 0; permutation < 10; ++permutation) {
    std::vector<std::uint32_t> to(peer.tree.hosts());
    std::iota(to.begin(), to.end(), 0U);
    // Sattolo's cycle: nobody sends to itself.
    for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[random.below(i)]);
    for (std::uint32_t host = 0; host < peer.tree.hosts(); ++host) peer.add({Time::zero(), host, to[host], 10'000'000}, random);
  }
  return peer;
}

PeerCase poisson() {
  PeerCase peer{"5,000 flows of 1 MB arriving at 50 % load"};
  RandomStream random(3, 0, 0);
  double start_s = 0;
  for (int i = 0; i < 5000; ++i) {
    // 1 MB takes 80 us at 100 Gb/s; 1,024 hosts half busy start one every 160 us / 1,024.
    start_s += random.exponential(160e-6 / peer.tree.hosts());
    const auto source = static_cast<std::uint32_t>(random.below(peer.tree.hosts()));
    const auto offset = static_cast<std::uint32_t>(random.below(peer.tree.hosts() - 1));
    peer.add({Time::zero() + Duration::from_seconds(start_s), source, (source + 1 + offset) % peer.tree.hosts(), 1'000'000},
             random);
  }
  return peer;
}

/// A SimGrid engine lives once per process: one case a run.
int compare(const PeerCase& peer) {
  const PeerResult own = run_weft(peer);
  const PeerResult other = run_simgrid(peer);
  double worst = 0;
  for (std::size_t i = 0; i < peer.flows.size(); ++i) {
    worst = std::max(worst, std::abs(own.finish_s[i] - other.finish_s[i]) / other.finish_s[i]);
  }
  std::printf("%-48s  weft %9.4f CPU-s  simgrid %9.4f CPU-s  ratio %7.0f  completion times differ by at most %.1e\n",
              peer.name.c_str(), own.cpu_s, other.cpu_s, other.cpu_s / own.cpu_s, worst);
  return worst < 1e-6 ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  simgrid::s4u::Engine engine(&argc, argv);
  for (const char* setting : {"network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1", "network/weight-S:0",
                              "network/crosstraffic:0", "network/loopback-bw:1e12", "network/TCP-gamma:1e15",
                              "surf/precision:1e-11", "maxmin/precision:1e-9"}) {
    simgrid::s4u::Engine::set_config(setting);
  }
  const std::string_view which = argc == 2 ? argv[1] : "";
  if (which == "random") return weft::compare(weft::random_flows());
  if (which == "permutations") return weft::compare(weft::permutations());
  if (which == "poisson") return weft::compare(weft::poisson());
  std::fputs("usage: simgrid_peer random | permutations | poisson\n", stderr);
  return 2;
}
