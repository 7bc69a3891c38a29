// SPDX-License-Identifier: Apache-2.0
// Flow completion times by ns-3, as a system to which Weft is calibrated: a topology and a flow
// list as of `weft run` in, a table as of `weft calibrate --measured` out.
//
//   build/bench/ns3_flows --topology=net.textproto --flows=flows.txt --out=fct.csv
//   weft calibrate --topology=net.textproto --flows=flows.txt:hpcc --measured=fct.csv --fit=...
//
// What is modelled: TCP with DCTCP over links and paths of the topology, packets of 4 KiB with 42 B
// of headers, an acknowledgement for each, queues that mark as Weft's switches do by default
// (ns3_network.hpp). Connections are open before the first flow starts. By default a connection has
// what fits into a round trip under way from its first packet on, and connections take turns at a
// card, as with RDMA; with --window=own it begins with ten packets and TCP's slow start, and cards
// have one queue. Switches and hosts take no time unless --switching-delay and --host-latency say
// so.
#include <fmt/format.h>
#include <ns3/nstime.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bench/peers/ns3_network.hpp"
#include "core/text/diagnostics.hpp"
#include "host/transport/dcqcn.hpp"
#include "host/transport/flow_list_source.hpp"
#include "host/transport/packet_settings.hpp"
#include "network/flow/flow_settings.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/formats/hpcc/hpcc_flows.hpp"

namespace weft {
namespace {

constexpr int exit_input = 2;  // as weft's
constexpr std::int64_t payload_bytes_max = 65'000;

struct Arguments {
  std::string topology;
  std::string flows;
  std::string out;
  std::string payload = "4096B";
  std::string window = "round_trip";
  std::string switching_delay = "0ns";
  std::string host_latency = "0ns";
  std::string ecmp_seed = "1";
  std::string source_ports = "0";
};

template <class Quantity>
Quantity read(const ParsedQuantity<Quantity>& parsed, const char* option, Quantity least, Quantity most) {
  const SourcePlace place = SourcePlace::named(option);
  if (!parsed.value) fail("bad-value", parsed.error.message, place, parsed.error.help);
  if (*parsed.value < least || *parsed.value > most) {
    fail("out-of-range", fmt::format("{} is not from {} to {}", to_text(*parsed.value), to_text(least), to_text(most)), place);
  }
  return *parsed.value;
}

/// FILE or FILE:format.
std::shared_ptr<const Topology> read_topology_argument(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return load_topology(text, "");
  return load_topology(text.substr(0, colon), text.substr(colon + 1));
}

/// The flow list; reports together all flows that ns-3 is not given.
FlowList read_flows(const Arguments& arguments, const Topology& topology) {
  FlowList flows = import_hpcc_flows(arguments.flows);
  Diagnostics diagnostics;
  check_flow_list(flows, topology, arguments.flows, diagnostics);
  diagnostics.throw_if_errors();
  SourcePlace place = SourcePlace::named(arguments.flows);
  if (flows.flows.size() > Ns3Network::flows_max) {
    fail("too-many-flows", fmt::format("ns-3 is given {} flows at most, not {}", Ns3Network::flows_max, flows.flows.size()), place);
  }
  for (const ListedFlow& flow : flows.flows) {
    place.line = flow.line;
    if (topology.node(NodeId(flow.source)).host == topology.node(NodeId(flow.destination)).host) {
      diagnostics.error("flow-inside-host", "the flow stays inside a host, which ns-3 does not model", place, "remove the line");
    }
    if (flow.size < Bytes::of(1) || flow.size.count() > UINT32_MAX) {
      diagnostics.error("out-of-range", fmt::format("ns-3 is given flows of 1 B to 4 GiB, not of {}", to_text(flow.size)), place);
    }
  }
  diagnostics.throw_if_errors();
  return flows;
}

Ns3Settings read_settings(const Arguments& arguments) {
  Ns3Settings settings;
  settings.payload = read(parse_bytes(arguments.payload), "--payload", Bytes::of(64), Bytes::of(payload_bytes_max));
  settings.switching_delay =
      read(parse_duration(arguments.switching_delay), "--switching-delay", Duration::zero(), Duration::ms(1));
  settings.host_latency = read(parse_duration(arguments.host_latency), "--host-latency", Duration::zero(), Duration::ms(1));
  settings.window = arguments.window == "own" ? Ns3Settings::Window::own : Ns3Settings::Window::round_trip;
  return settings;
}

FlowSettings flow_settings(const Arguments& arguments) {
  ParamSet params("flow", flow_params());
  params.set("ecmp_seed", arguments.ecmp_seed, SourcePlace::named("--ecmp-seed"));
  params.set("source_ports", arguments.source_ports, SourcePlace::named("--source-ports"));
  return FlowSettings(params);
}

std::string table(const Topology& topology, const FlowList& flows, const Ns3Result& result) {
  std::string text = "input_row,src,dst,size_bytes,start_us,fct_us\n";
  const auto name = [&](std::uint32_t node) { return topology.node_name(NodeId(node)); };
  for (std::size_t i = 0; i < flows.flows.size(); ++i) {
    const ListedFlow& flow = flows.flows[i];
    text += fmt::format("{},{},{},{},{},{}\n", i, name(flow.source), name(flow.destination), flow.size.count(), flow.start.in_us(),
                        result.fct[i] ? fmt::to_string(result.fct[i]->in_us()) : "");
  }
  return text;
}

int measure(const Arguments& arguments) {
  const Ns3Settings settings = read_settings(arguments);
  const FlowSettings flow = flow_settings(arguments);
  const PacketSettings packet(ParamSet("packet", packet_params()), make_dcqcn(ParamSet("dcqcn", dcqcn_params())));
  const std::shared_ptr<const Topology> topology = read_topology_argument(arguments.topology);
  const FlowList flows = read_flows(arguments, *topology);
  const PacketTopology nodes(*topology, flow.path_rule);
  std::ofstream file(arguments.out, std::ios::binary);
  if (!file) fail("cannot-write", "the table cannot be written", SourcePlace::named(arguments.out));
  // A packet of 4 KiB takes 83 ns at 400 Gb/s, which whole nanoseconds would make 1 % of.
  ns3::Time::SetResolution(ns3::Time::PS);
  const Ns3Result result = Ns3Network(*topology, nodes, flows, packet, settings).run();
  file << table(*topology, flows, result) << std::flush;
  if (!file) fail("cannot-write", "the table could not be written", SourcePlace::named(arguments.out));
  std::size_t ended = 0;
  for (const std::optional<Duration>& fct : result.fct) ended += fct ? 1 : 0;
  fmt::print("{} flows, {} ended, {} marks, {} drops, {:.2f} CPU-s\n", flows.flows.size(), ended, result.marks, result.drops,
             result.cpu_s);
  return ended == flows.flows.size() ? 0 : 1;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Flow completion times by ns-3, for weft calibrate --measured");
  app.add_option("--topology", arguments.topology, "FILE[:format], as of weft run")->required();
  app.add_option("--flows", arguments.flows, "Flow list, format hpcc")->required();
  app.add_option("--out", arguments.out, "CSV table to write")->required();
  app.add_option("--payload", arguments.payload, "Of a full packet")->capture_default_str();
  app.add_option("--window", arguments.window, "round_trip: at once what fits into a round trip; own: TCP's slow start")
      ->check(CLI::IsMember({"round_trip", "own"}))
      ->capture_default_str();
  app.add_option("--switching-delay", arguments.switching_delay, "Of every switch")->capture_default_str();
  app.add_option("--host-latency", arguments.host_latency, "From a flow's start until it may send")->capture_default_str();
  app.add_option("--ecmp-seed", arguments.ecmp_seed, "As flow.ecmp_seed of weft run")->capture_default_str();
  app.add_option("--source-ports", arguments.source_ports, "As flow.source_ports of weft run")->capture_default_str();
  try {
    app.parse(argc, argv);
    return measure(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_input;
  } catch (const InputError& error) {
    std::fputs(error.what(), stderr);
    return exit_input;
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc, argv); }
