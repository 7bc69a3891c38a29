// SPDX-License-Identifier: Apache-2.0
// Packet mode: data packet-hops per CPU second of whole runs - cards, queue pairs,
// acknowledgements, PFC, ECN and DCQCN.
//
// A k-ary fat tree with links of 100 Gb/s and 200 m, in which hosts send as much as makes about 100
// million hops (permutations; 2 to 130 MB each), 20 (incast) or 4 (sparse). Hops of data packets
// are counted; acknowledgements, one per `ack` packets, and congestion notifications are simulated
// and not counted. Setting up is not measured.
// `peak_mb` is the most memory that the process has had, over all cases so far. `simulated_us` is
// when the last flow has ended, `floor_us` how long the link with most bytes to carry is busy with
// them: what is simulated beyond it, congestion control leaves idle.
//   shift     every host to the one half of all hosts further, routed by destination: all links are
//             busy all the time
//   random    every host to another, one to one, over ways chosen by hash: flows meet, fill
//             buffers, are marked, slowed down and paused
//   incast    groups of 100 hosts to one
//   sparse    one host in 64 to another
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu_time.hpp"
#include "bench/packet_runs.hpp"
#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"
#include "host/transport/dcqcn.hpp"
#include "host/transport/flow_list_source.hpp"
#include "host/transport/packet_network.hpp"

namespace weft {
namespace {

double hops_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::shift:
    case Pattern::random:
      return 100e6;
    case Pattern::incast:
      return 20e6;
    case Pattern::sparse:
      break;
  }
  return 4e6;
}

void run(benchmark::State& state, Pattern pattern) {
  const auto k = static_cast<std::uint32_t>(state.range(0));
  const std::int64_t wire_bytes = state.range(1);
  const auto ack_interval = static_cast<std::uint32_t>(state.range(2));
  const auto threads = static_cast<std::uint32_t>(state.range(3));
  const std::shared_ptr<const Topology> topology = fat_tree(k);
  const auto hosts = static_cast<std::uint32_t>(topology->host_count());
  const std::vector<std::uint32_t> to = destinations(pattern, hosts);
  std::uint32_t senders = 0;
  for (std::uint32_t host = 0; host < hosts; ++host) senders += to[host] != host ? 1 : 0;
  const double hops_wanted = hops_of(pattern);
  const std::int64_t packets = std::max<std::int64_t>(1, static_cast<std::int64_t>(hops_wanted / (6.0 * senders)));

  const SourcePlace place = SourcePlace::named("benchmark");
  ParamSet flow_params_set("flow", flow_params());
  flow_params_set.set("protocol", "none", place);
  flow_params_set.set("mtu", fmt::format("{}B", wire_bytes), place);
  if (pattern == Pattern::shift) flow_params_set.set("routing", "static", place);
  const FlowSettings flow(flow_params_set);
  ParamSet packet_set("packet", packet_params());
  packet_set.set("ack_interval", fmt::to_string(ack_interval), place);
  const PacketSettings packet(packet_set, make_dcqcn(ParamSet("dcqcn", dcqcn_params())));

  FlowList flows;
  for (std::uint32_t host = 0; host < hosts; ++host) {
    if (to[host] == host) continue;
    flows.flows.push_back({topology->endpoints()[host].index(), topology->endpoints()[to[host]].index(), 0, 0,
                           Bytes::of(packets * wire_bytes), Duration::zero(), 0});
  }
  const PacketTopology nodes(*topology, flow.path_rule);
  double hops_per_run = 0;
  std::vector<std::uint32_t> flows_of_link(topology->link_count());
  for (std::uint32_t i = 0; i < flows.flows.size(); ++i) {
    const ListedFlow& listed = flows.flows[i];
    const PacketTopology::Route route = nodes.route(NodeId(listed.source), NodeId(listed.destination), i, 0);
    hops_per_run += static_cast<double>(packets) * static_cast<double>(route.links.size());
    for (const LinkId link : route.links) ++flows_of_link[link.index()];
  }
  const std::uint32_t most_flows = *std::max_element(flows_of_link.begin(), flows_of_link.end());
  const Duration floor = transmit_time(Bytes::of(most_flows * packets * wire_bytes), Bandwidth::gbps(100));
  double hops = 0;
  double cpu_s = 0;
  for (auto _ : state) {
    state.PauseTiming();
    PacketNetwork network(*topology, flow, packet, PacketTraffic{1, true}, 1);
    EngineBuilder builder;
    std::vector<EntityId> sink_of_host;
    for (std::uint32_t host = 0; host < hosts; ++host) {
      sink_of_host.push_back(builder.add_entity(std::make_unique<FlowListSink>(), "host"));
    }
    network.add_to(builder, sink_of_host);
    const PacketNetworkPort port(*topology, flow, EntityId::none(), network.cards());
    for (const std::uint32_t flow_place : by_start(flows)) {
      const Transfer transfer = transfer_of(flows, flow_place);
      const PacketNetworkPort::Entry entry = port.entry(transfer);
      builder.post_initial(entry.node, Time::zero() + entry.latency, EventClass::message, transfer_start, transfer);
    }
    EngineOptions options;
    options.threads = threads;
    Engine engine = std::move(builder).build(options);
    state.ResumeTiming();
    const double before_s = process_cpu_s();
    const RunReport report = engine.run({});
    cpu_s += process_cpu_s() - before_s;
    state.PauseTiming();
    const PacketCounters counters = network.results().counters(engine, report.end_time);
    hops += hops_per_run;
    state.counters["windows"] = static_cast<double>(report.windows);
    state.counters["events"] = static_cast<double>(report.events);
    state.counters["marks"] = static_cast<double>(counters.ecn_marks);
    state.counters["pauses"] = static_cast<double>(counters.pauses);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["peak_mb"] = static_cast<double>(usage.ru_maxrss) / 1024;
    state.counters["floor_us"] = floor.in_us();
    state.counters["simulated_us"] = (report.end_time - Time::zero()).in_us();
    state.ResumeTiming();
  }
  state.counters["packet_hops_per_cpu_s"] = hops / cpu_s;
  state.counters["packet_hops_per_s"] = benchmark::Counter(hops, benchmark::Counter::kIsRate);
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"k", "bytes", "ack", "threads"})->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);
}
void permutations(benchmark::internal::Benchmark* benchmark) {
  arguments(benchmark);
  benchmark->ArgsProduct({{8, 16, 32}, {1000, 4096}, {16, 1}, {1}})->ArgsProduct({{16, 32}, {1000, 4096}, {16}, {2}});
}
void others(benchmark::internal::Benchmark* benchmark) {
  arguments(benchmark);
  benchmark->ArgsProduct({{16}, {1000}, {16}, {1, 2}});
}
BENCHMARK_CAPTURE(run, shift, Pattern::shift)->Apply(permutations);
BENCHMARK_CAPTURE(run, random, Pattern::random)->Apply(permutations);
BENCHMARK_CAPTURE(run, incast, Pattern::incast)->Apply(others);
BENCHMARK_CAPTURE(run, sparse, Pattern::sparse)->Apply(others);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
