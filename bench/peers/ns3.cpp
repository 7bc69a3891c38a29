// SPDX-License-Identifier: Apache-2.0
// Weft's packet mode against ns-3: the same fat tree, paths and permutation, both from this one
// program.
//
//   build/bench/ns3_peer [K [BYTES [METRES]]]
//
// Every host of a K-ary fat tree sends BYTES to another, one to one, in packets of 1,000 B over
// links of 100 Gb/s and METRES of fibre; 8, 1000000 and 200 (1 us) where nothing is given. Prints
// the CPU time of each (of its run alone, on one core), hops of data packets per CPU second, how
// long flows take on average, and the ratio of speeds. Weft takes little time, so its run is
// repeated and the median counts. Hops are counted alike: packets of payload times links of their
// path. Acknowledgements, one per packet, are simulated on both sides and counted on neither.
//
//   ns-3   TCP with DCTCP, RED queue discs that mark and have room for all, the fastest of its
//          schedulers here
//   Weft   queue pairs with DCQCN, switches that mark and pause
//
// What is the same: links and their delays, the paths of data and of acknowledgements, the queues
// from which on packets are marked. In addition to the payload a packet has 42 B in ns-3 and 48 B
// in Weft. Cards and switches take no time of their own. Flows begin when all TCP connections are
// open. Weft handles together what comes to a node within the delay of a link; with 1 m it is three
// times slower than with 200.
// How ns-3 takes Weft's paths stands in ns3_network.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cpu_time.hpp"
#include "bench/packet_runs.hpp"
#include "bench/peers/ns3_network.hpp"
#include "core/engine/engine.hpp"
#include "core/text/diagnostics.hpp"
#include "host/transport/dcqcn.hpp"
#include "host/transport/flow_list_source.hpp"
#include "host/transport/packet_network.hpp"

namespace weft {
namespace {

constexpr std::int64_t payload_bytes = 1000;  // of a packet
constexpr int weft_runs = 11;

ParamSet flow_table() {
  const SourcePlace place = SourcePlace::named("ns3_peer");
  ParamSet params("flow", flow_params());
  params.set("protocol", "hpcc", place);
  params.set("mtu", fmt::format("{}B", payload_bytes), place);
  for (const char* latency : {"wqe_latency", "receive_latency", "completion_latency", "switching_delay"}) {
    params.set(latency, "0ns", place);
  }
  return params;
}

ParamSet packet_table() {
  const SourcePlace place = SourcePlace::named("ns3_peer");
  ParamSet params("packet", packet_params());
  params.set("ack_interval", "1", place);
  params.set("card_delay", "0ns", place);
  return params;
}

struct PeerCase {
  std::shared_ptr<const Topology> topology;
  std::int64_t bytes;  ///< of every flow
  FlowSettings flow{flow_table()};
  PacketSettings packet{packet_table(), make_dcqcn(ParamSet("dcqcn", dcqcn_params()))};
  PacketTopology nodes{*topology, flow.path_rule};
  FlowList flows = {};
  double hops = 0;  ///< of data packets

  PeerCase(std::uint32_t k, std::int64_t bytes_per_host, std::uint32_t fibre_m)
      : topology(fat_tree(k, fmt::format("{}m", fibre_m))), bytes(bytes_per_host) {
    const std::vector<std::uint32_t> to = destinations(Pattern::random, nodes.host_count());
    for (std::uint32_t host = 0; host < nodes.host_count(); ++host) {
      const NodeId source = topology->endpoints()[host];
      const NodeId destination = topology->endpoints()[to[host]];
      flows.flows.push_back({source.index(), destination.index(), 0, 0, Bytes::of(bytes), Duration::zero(), 0});
      const std::int64_t packets = flow.wire_format.packets(Bytes::of(bytes));
      hops += static_cast<double>(packets) * static_cast<double>(nodes.route(source, destination, host, 0).links.size());
    }
  }
};

struct PeerResult {
  double cpu_s = 0;
  std::uint64_t delivered = 0;
  double completion_us = 0;  ///< mean
  std::uint64_t marks = 0;
  std::uint64_t drops = 0;
};

PeerResult run_weft(const PeerCase& peer) {
  PacketNetwork network(*peer.topology, peer.flow, peer.packet, PacketTraffic{1, true}, 1);
  EngineBuilder builder;
  std::vector<EntityId> sink_of_host;
  for (std::uint32_t host = 0; host < peer.nodes.host_count(); ++host) {
    sink_of_host.push_back(builder.add_entity(std::make_unique<FlowListSink>(), "host"));
  }
  network.add_to(builder, sink_of_host);
  const PacketNetworkPort port(*peer.topology, peer.flow, EntityId::none(), network.cards());
  for (std::uint32_t i = 0; i < peer.flows.flows.size(); ++i) {
    const Transfer transfer = transfer_of(peer.flows, i);
    const PacketNetworkPort::Entry entry = port.entry(transfer);
    builder.post_initial(entry.node, Time::zero() + entry.latency, EventClass::message, transfer_start, transfer);
  }
  Engine engine = std::move(builder).build({});
  PeerResult result;
  const double begin_s = process_cpu_s();
  const RunReport report = engine.run({});
  result.cpu_s = process_cpu_s() - begin_s;
  for (const FinishedTransfer& finished : network.results().finished(engine)) {
    ++result.delivered;
    result.completion_us += (finished.end - finished.start).in_us();
  }
  result.completion_us /= static_cast<double>(result.delivered);
  const PacketCounters counters = network.results().counters(engine, report.end_time);
  result.marks = counters.ecn_marks;
  result.drops = counters.drops;
  return result;
}

/// The run of the median CPU time.
PeerResult run_weft_often(const PeerCase& peer) {
  std::vector<PeerResult> runs;
  for (int i = 0; i < weft_runs; ++i) runs.push_back(run_weft(peer));
  std::ranges::sort(runs, {}, &PeerResult::cpu_s);
  return runs[runs.size() / 2];
}

PeerResult run_ns3(const PeerCase& peer) {
  Ns3Settings settings;
  settings.payload = Bytes::of(payload_bytes);
  Ns3Network network(*peer.topology, peer.nodes, peer.flows, peer.packet, settings);
  const Ns3Result run = network.run();
  PeerResult result{run.cpu_s, 0, 0, run.marks, run.drops};
  for (const std::optional<Duration>& fct : run.fct) {
    if (!fct) continue;
    ++result.delivered;
    result.completion_us += fct->in_us();
  }
  result.completion_us /= static_cast<double>(result.delivered);
  return result;
}

void print(const char* name, const PeerCase& peer, const PeerResult& result) {
  std::printf(
      "%-5s %9.4f CPU-s  %11.0f packet-hops per CPU-s  flows take %9.2f us on average  %llu delivered, %llu marks, %llu drops\n",
      name, result.cpu_s, peer.hops / result.cpu_s, result.completion_us, static_cast<unsigned long long>(result.delivered),
      static_cast<unsigned long long>(result.marks), static_cast<unsigned long long>(result.drops));
}

int compare(const PeerCase& peer) {
  std::printf("%u hosts send %lld B each: %.0f hops of data packets\n", peer.nodes.host_count(), static_cast<long long>(peer.bytes),
              peer.hops);
  const PeerResult own = run_weft_often(peer);
  print("weft", peer, own);
  const PeerResult other = run_ns3(peer);
  print("ns-3", peer, other);
  std::printf("ratio %.0f; weft is the median of %d runs\n", other.cpu_s / own.cpu_s, weft_runs);
  return own.delivered == other.delivered && own.delivered == peer.flows.flows.size() ? 0 : 1;
}

/// An argument, or what stands for it if there are fewer; nothing if it is no number within the
/// limits.
std::optional<std::int64_t> number(int argc, char** argv, int place, std::int64_t otherwise, std::int64_t least,
                                   std::int64_t most) {
  if (place >= argc) return otherwise;
  const std::string_view text = argv[place];
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const auto k = weft::number(argc, argv, 1, 8, 4, 32);
  const auto bytes = weft::number(argc, argv, 2, 1'000'000, 1, 1'000'000'000);
  const auto fibre_m = weft::number(argc, argv, 3, 200, 1, 10'000);
  if (argc > 4 || !k || *k % 2 != 0 || !bytes || !fibre_m) {
    std::fputs("usage: ns3_peer [K [BYTES [METRES]]]\n", stderr);
    return 2;
  }
  return weft::compare(weft::PeerCase(static_cast<std::uint32_t>(*k), *bytes, static_cast<std::uint32_t>(*fibre_m)));
}
