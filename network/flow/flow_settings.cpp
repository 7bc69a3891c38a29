// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

/// What several members of FlowSettings follow from.
struct FlowChoices {
  std::string routing;
  PathWeights path_weights;
  std::optional<std::uint64_t> ecmp_seed;  ///< none: the run's
  std::uint32_t source_ports;
  std::string protocol;
  Bytes mtu;
  Bytes extra_header;
};

namespace {

std::optional<Bandwidth> rate_limit(const std::string& text, const std::string& param) {
  const std::optional<Bandwidth> rate = read_bandwidth_or(text, "unlimited", param);
  if (!rate || *rate >= Bandwidth::bps(1)) return rate;
  fail("out-of-range", fmt::format("{} = {} lets nothing through", param, text), SourcePlace::named(param),
       "at least 1bps, or unlimited");
}

constexpr std::array flow_settings_params = {
    ParamSpec{.name = "allocation",
              .kind = ParamKind::choice,
              .default_text = "max_min",
              .choices = "max_min|quantum_filling",
              .meaning = "Policy that shares links among flows; its own parameters are in the table of its name.",
              .origin = "max-min fairness is what congestion control aims at; paper, appendix B"},
    param<&FlowSettings::wqe_latency>({.name = "wqe_latency",
                                       .default_text = "1us",
                                       .minimum = "0ns",
                                       .maximum = "1s",
                                       .meaning = "From the moment a host hands over a transfer until its first byte is on the "
                                                  "wire: work queue entry, doorbell, DMA read.",
                                       .origin = "paper, section 6.1: a constant; about half of a one-way RDMA latency of 2 us",
                                       .fit = {"0ns", "20us"}}),
    param<&FlowSettings::receive_latency>(
        {.name = "receive_latency",
         .default_text = "500ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "From the last byte's arrival at the destination's NIC until the destination may use the data.",
         .origin = "a PCIe write and the poll of its completion",
         .fit = {"0ns", "20us"}}),
    param<&FlowSettings::completion_latency>(
        {.name = "completion_latency",
         .default_text = "200ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "From the last byte's departure until the source knows; inside a host also until the destination does.",
         .origin = "a poll of the completion queue",
         .fit = {"0ns", "20us"}}),
    param<&FlowSettings::switching_delay>({.name = "switching_delay",
                                           .default_text = "500ns",
                                           .minimum = "0ns",
                                           .maximum = "1s",
                                           .meaning = "Added per packet switch on the path.",
                                           .origin = "port-to-port latency of data centre switches, 300 to 800 ns",
                                           .fit = {"0ns", "10us"}}),
    param<&FlowSettings::forwarding>(
        {.name = "forwarding",
         .default_text = "store_and_forward",
         .choices = "store_and_forward|cut_through",
         .meaning =
             "What a packet switch does with a packet. store_and_forward: takes it in whole, so that a message's last packet "
             "crosses every "
             "cable of its path in turn. cut_through: passes it on while it comes in, which costs switching_delay alone. Packet "
             "mode stores "
             "and forwards.",
         .origin =
             "what packet mode does, so that a message that meets nobody takes the same time in both; 83 ns per switch at 400 "
             "Gb/s and 4 KiB",
         .unused = {{"mode = packet", "switches of packet mode store and forward"}}}),
    param<&FlowSettings::nvlink_latency>({.name = "nvlink_latency",
                                          .default_text = "600ns",
                                          .minimum = "0ns",
                                          .maximum = "1s",
                                          .meaning = "As wqe_latency, for transfers that stay inside a host.",
                                          .origin = "NCCL's latency model: NVLink ring hop, LL protocol, 0.6 us",
                                          .fit = {"0ns", "20us"}}),
    param<&FlowSettings::gpudirect>(
        {.name = "gpudirect",
         .default_text = "on",
         .choices = "on|off",
         .meaning =
             "Whether NICs reach the memory of GPUs (GPUDirect RDMA). off: messages between hosts are staged in host memory at "
             "both ends "
             "and cross the cables between GPU and NIC in both directions.",
         .origin = "NCCL uses it wherever NIC and driver allow",
         .word = "on"}),
    param<&FlowSettings::staging_latency>(
        {.name = "staging_latency",
         .default_text = "1us",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "Without GPUDirect, added at each end of a message between hosts: copying the first or last chunk and noticing "
                    "that it is there.",
         .origin = "assumption: a PCIe write to host memory and the poll of the CPU thread that waits for it, as receive_latency, "
                   "each way",
         .fit = {"0ns", "50us"}}),
    param<&FlowSettings::staging_rate>(
        {.name = "staging_rate",
         .default_text = "512Gbps",
         .minimum = "1bps",
         .maximum = "1000Tbps",
         .meaning = "Without GPUDirect, the most that a transfer between hosts gets, headers included.",
         .origin = "PCIe 5.0 x16, a GPU's way to host memory"}),
    param<&FlowChoices::mtu>(
        {.name = "mtu",
         .default_text = "4096B",
         .minimum = "1B",
         .maximum = "64KiB",
         .meaning = "Path MTU: what a packet holds of its message, headers apart.",
         .origin =
             "InfiniBand Architecture volume 1, section 7.7: the largest of five, and what RoCE and NDR networks are set to"}),
    param<&FlowChoices::protocol>(
        {.name = "protocol",
         .default_text = "rocev2_ipv4",
         .choices = "rocev2_ipv4|rocev2_ipv6|infiniband|hpcc|none",
         .meaning = "Protocol stack whose headers are added per packet; links inside a host carry payload only.",
         .origin = "paper, section 7.3: RoCEv2"}),
    param<&FlowChoices::extra_header>({.name = "extra_header",
                                       .default_text = "0B",
                                       .minimum = "0B",
                                       .maximum = "64KiB",
                                       .meaning = "Of every packet, beside the headers of flow.protocol: VLAN tags, tunnels, a "
                                                  "vendor's own transport.",
                                       .origin = "none; a VLAN tag has 4 B (IEEE 802.1Q), VXLAN 50 B (RFC 7348)",
                                       .fit = {"0B", "256B"}}),
    param<&FlowSettings::nvlink_efficiency>(
        {.name = "nvlink_efficiency",
         .default_text = "1",
         .minimum = "0.01",
         .maximum = "1",
         .meaning = "Share of the rate of links inside a host that data gets; packet headers, flow control and the copying kernels "
                    "take the rest.",
         .origin = "none lost; the presets have what was measured",
         .fit = {"0.3", "1"}}),
    param<&FlowSettings::network_efficiency>({.name = "network_efficiency",
                                              .default_text = "1",
                                              .minimum = "0.01",
                                              .maximum = "1",
                                              .meaning = "Share of the network's rate that packets get; credits, acknowledgements "
                                                         "and the NIC's access to memory take the rest.",
                                              .origin = "none lost; the presets have what was measured",
                                              .fit = {"0.3", "1"}}),
    param<&FlowSettings::nvls_efficiency>(
        {.name = "nvls_efficiency",
         .default_text = "1",
         .minimum = "0.01",
         .maximum = "1",
         .meaning = "Share of what nvlink_efficiency leaves that data gets where NVSwitches add up and multiply (nvls, sharp).",
         .origin = "none lost; NCCL's tuning model has 0.85 for Hopper and 0.74 for Blackwell",
         .fit = {"0.3", "1"}}),
    param<&FlowSettings::queue_pairs>(
        {.name = "queue_pairs",
         .default_text = "1",
         .minimum = "1",
         .maximum = "1024",
         .meaning = "Queue pairs a transfer between hosts is split over (QP scaling); each takes its own ECMP path.",
         .origin = "no scaling"}),
    param_read<rate_limit, &FlowSettings::queue_pair_rate_max>(
        {.name = "queue_pair_rate_max",
         .default_text = "unlimited",
         .meaning = "Rate limit of each queue pair between hosts, headers included, such as 100Gbps: what a NIC or an application "
                    "paces it "
                    "to.",
         .origin = "queue pairs are not paced unless somebody asks for it"}),
    param<&FlowSettings::share>(
        {.name = "share",
         .default_text = "per_queue_pair",
         .choices = "per_queue_pair|per_transfer",
         .meaning = "Whether every queue pair has weight 1, or those of a transfer together.",
         .origin = "NICs and congestion control work per queue pair",
         .unused = {{"mode = packet and flow_jobs = none", "in packet mode queue pairs share links packet by packet"}}}),
    param<&FlowChoices::routing>({.name = "routing",
                                  .default_text = "ecmp",
                                  .choices = "ecmp|e_ecmp|static|spray|adaptive|adaptive_global",
                                  .meaning = "ecmp: each queue pair takes one shortest path, by a hash of both ends and its UDP "
                                             "source port. e_ecmp: likewise, and its "
                                             "number at the destination is hashed too, so that few source ports "
                                             "(flow.source_ports) do not matter. static: one that "
                                             "depends on the destination alone (D-mod-k: neighbouring "
                                             "destinations over neighbouring ports). adaptive: when it starts, every switch sends "
                                             "it over the next hop with the least "
                                             "flows for its rate. adaptive_global: it takes the path whose worst link has the "
                                             "least flows for its rate. spray: it is "
                                             "spread over all of them, evenly unless flow.path_weights says otherwise.",
                                  .origin = "ECMP is what RoCE fabrics run, E-ECMP what Meta's do; InfiniBand's subnet managers "
                                            "set static routes; adaptive is what "
                                            "InfiniBand and dynamic load balancing do for whole flows, "
                                            "adaptive_global "
                                            "what they could if switches knew of each other; spraying is what Ultra Ethernet and "
                                            "adaptive routing of packets come to "
                                            "on average"}),
    param<&FlowChoices::path_weights>(
        {.name = "path_weights",
         .default_text = "equal",
         .choices = "equal|capacity",
         .meaning =
             "How next hops on shortest paths share what goes to a destination under flow.routing = ecmp, e_ecmp or spray, and "
             "trees "
             "of "
             "operations in switches. equal: alike. capacity: each by the rate of its link, or what the ways on from there can "
             "carry "
             "to "
             "where all ways meet again, if that is less (WCMP); where a cable of a run becomes slow or fast again, weights follow "
             "failure.reroute later, but for trees, which stay.",
         .origin = "equal: what switches do unless told otherwise; capacity: Zhou et al., WCMP, EuroSys 2014; BGP link bandwidth, "
                   "RFC 10005"}),
    ParamSpec{
        .name = "routes",
        .kind = ParamKind::file,
        .meaning =
            "For flow.routing = static: routes of your own, a file in protobuf text format, see network/routes_file.proto. They go "
            "before those by destination; operations in switches (sharp) keep to trees of their own. Relative to the current "
            "folder, "
            "in a scenario to the scenario's.",
        .origin = "none: those by destination alone",
        .unused = {{"flow.routing != static", "only flow.routing = static goes by them"}}},
    param<&FlowSettings::priorities>(
        {.name = "priorities",
         .default_text = "strict",
         .choices = "strict|none",
         .meaning =
             "Whether transfers of a higher priority go strictly first on every link, or all share alike. Priorities are given by "
             "workloads (priority, Chakra's comm_priority, htsim's prio) and flow lists (hpcc's group 0).",
         .origin = "strict priority of IEEE 802.1Q; where nothing gives a priority, it makes no difference"}),
    param<&FlowSettings::reducing_switches>({.name = "reducing_switches",
                                             .default_text = "all",
                                             .choices = "all|nvswitches|none",
                                             .meaning = "Switches that can add up and multiply what passes through them, if a "
                                                        "collective's algorithm asks for it (nvls, sharp).",
                                             .origin = "choosing such an algorithm says that they can"}),
    param<&FlowChoices::ecmp_seed>(
        {.name = "ecmp_seed",
         .default_text = "run",
         .meaning =
             "Seed of the switches' hash functions, which choose paths (ecmp, e_ecmp, trees of operations in switches), ports "
             "of sprayed packets, and "
             "one of equals where routing is adaptive: a number, or run: the run's own, --seed.",
         .origin = "one seed for every random choice of a run, unless two runs are to differ in one of them",
         .word = "run",
         .unused = {{"flow.routing = static and traffic = flow_list", "flow.routing = static hashes nothing"}}}),
    param<&FlowChoices::source_ports>(
        {.name = "source_ports",
         .default_text = "0",
         .minimum = "0",
         .maximum = "16384",
         .meaning =
             "UDP source ports of the queue pairs between two endpoints, all that ecmp can tell them apart by: q of connection "
             "c has number "
             "(c + q) modulo so many; 0: each has its own. No other routing minds.",
         .origin = "network cards draw a port for every queue pair from 0xC000 to 0xFFFF (RoCEv2); those that do not are what "
                   "E-ECMP is for",
         .unused = {{"flow.routing != ecmp", "only flow.routing = ecmp goes by them"}}}),
    param<&FlowSettings::detect_congestion>(
        {.name = "detect_congestion",
         .default_text = "off",
         .choices = "on|off",
         .meaning = "Flow mode: whether to write congestion.csv and congested_jobs.csv: on which links jobs get less than their "
                    "hosts' own "
                    "links would give them, when, and whose start began it. Needs flow.allocation = max_min.",
         .origin = "off: it takes time; paper, section 10.1",
         .word = "on",
         .unused = {{"traffic = flow_list", "a flow list has no jobs"},
                    {"mode = packet", "flows have rates in flow mode only; links.csv has queues, marks and pauses"}}}),
    param<&FlowSettings::congestion_gap>(
        {.name = "congestion_gap",
         .default_text = "1min",
         .minimum = "0ns",
         .maximum = "1000h",
         .meaning =
             "Congestion of a link that is back after so long counts as one period: transfers come and go with every iteration.",
         .origin = "assumption: a few iterations of a large model",
         .unused = {{"flow.detect_congestion = off", "no congestion is looked for"},
                    {"mode != flow", "no congestion is looked for"},
                    {"traffic = flow_list", "no congestion is looked for"}}}),
};

/// What a link has to move for `bytes` to come through where only the share `efficiency` of its
/// rate is theirs.
Bytes blown_up(Bytes bytes, double efficiency) {
  if (efficiency == 1) return bytes;
  return Bytes::of(static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes.count()) / efficiency)));
}

Routing routing_called(std::string_view name) {
  if (name == "spray") return Routing::spray;
  if (name == "adaptive") return Routing::adaptive;
  return name == "adaptive_global" ? Routing::adaptive_global : Routing::single;
}

PathWeights path_weights(const FlowChoices& choices) {
  if (choices.path_weights == PathWeights::equal) return PathWeights::equal;
  const std::string& routing = choices.routing;
  if (routing == "ecmp" || routing == "e_ecmp" || routing == "spray") return PathWeights::capacity;
  fail("paths-not-weighed",
       fmt::format("flow.path_weights = capacity, and flow.routing = {}{}", routing,
                   routing == "static" ? " gives every destination one next hop, by its number"
                                       : " chooses next hops by what is under way on their links for their rate"),
       SourcePlace::named("flow.path_weights"), "take flow.routing=ecmp, e_ecmp or spray, or flow.path_weights=equal");
}

PathRule path_rule_of(const FlowChoices& choices, std::uint64_t run_seed) {
  PathRule rule;
  rule.seed = choices.ecmp_seed.value_or(run_seed);
  if (choices.routing == "static") rule.choice = PathRule::Choice::by_destination;
  if (choices.routing == "ecmp") rule.source_ports = choices.source_ports;
  rule.weights = path_weights(choices);
  return rule;
}

constexpr std::size_t path_cache_entries_default = std::size_t{1} << 16;

}  // namespace

ParamTable flow_params() { return flow_settings_params; }

FlowSettings::FlowSettings(const ParamSet& flow, std::uint64_t run_seed)
    : FlowSettings(flow, filled<FlowChoices>(flow), run_seed) {}

FlowSettings::FlowSettings(const ParamSet& flow, const FlowChoices& choices, std::uint64_t run_seed)
    : wire_format(protocol_stack(choices.protocol), choices.mtu, choices.extra_header),
      routing(routing_called(choices.routing)),
      path_rule(path_rule_of(choices, run_seed)),
      path_cache_entries(path_cache_entries_default) {
  fill(*this, flow);
}

Bytes FlowSettings::wire_bytes(Bytes payload, bool inside_host) const {
  return inside_host ? blown_up(payload, nvlink_efficiency) : blown_up(wire_format.wire_bytes(payload), network_efficiency);
}

double FlowSettings::queue_pair_cap_bps(bool inside_host) const {
  if (inside_host || !queue_pair_rate_max) return std::numeric_limits<double>::infinity();
  return static_cast<double>(queue_pair_rate_max->in_bps()) / network_efficiency;
}

Bytes FlowSettings::operation_wire_bytes(Bytes operand, bool inside_host) const {
  return inside_host ? blown_up(operand, nvlink_efficiency * nvls_efficiency) : wire_bytes(operand, false);
}

Duration FlowSettings::host_to_fabric_min() const { return std::min(wqe_latency, nvlink_latency); }

Duration FlowSettings::fabric_to_host_min() const { return std::min(receive_latency, completion_latency); }

}  // namespace weft
