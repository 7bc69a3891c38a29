#include "network/flow/flow_settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace weft {

namespace {

constexpr std::array<ParamSpec, 27> kFlowSettingsParams = {{
    {.name = "allocation",
     .kind = ParamKind::choice,
     .default_text = "max_min",
     .minimum = "",
     .maximum = "",
     .choices = "max_min|quantum_filling",
     .meaning = "Policy that shares links among flows; its own parameters are in the table of its name.",
     .origin = "max-min fairness is what congestion control aims at; paper, appendix B"},
    {.name = "wqe_latency",
     .kind = ParamKind::duration,
     .default_text = "1us",
     .minimum = "0ns",
     .maximum = "1s",
     .choices = "",
     .meaning =
         "From the moment a host hands over a transfer until its first byte is on the wire: work queue entry, doorbell, DMA read.",
     .origin = "paper, section 6.1: a constant; about half of a one-way RDMA latency of 2 us"},
    {.name = "receive_latency",
     .kind = ParamKind::duration,
     .default_text = "500ns",
     .minimum = "0ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "From the last byte's arrival at the destination's NIC until the destination may use the data.",
     .origin = "a PCIe write and the poll of its completion"},
    {.name = "completion_latency",
     .kind = ParamKind::duration,
     .default_text = "200ns",
     .minimum = "0ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "From the last byte's departure until the source knows; inside a host also until the destination does.",
     .origin = "a poll of the completion queue"},
    {.name = "switching_delay",
     .kind = ParamKind::duration,
     .default_text = "500ns",
     .minimum = "0ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "Added per packet switch on the path.",
     .origin = "port-to-port latency of data centre switches, 300 to 800 ns"},
    {.name = "forwarding",
     .kind = ParamKind::choice,
     .default_text = "store_and_forward",
     .minimum = "",
     .maximum = "",
     .choices = "store_and_forward|cut_through",
     .meaning = "What a packet switch does with a packet. store_and_forward: takes it in whole, so that a message's last packet "
                "crosses every "
                "cable of its path in turn. cut_through: passes it on while it comes in, which costs switching_delay alone. Packet "
                "mode stores "
                "and forwards.",
     .origin = "what packet mode does, so that a message that meets nobody takes the same time in both; 83 ns per switch at 400 "
               "Gb/s and 4 KiB"},
    {.name = "nvlink_latency",
     .kind = ParamKind::duration,
     .default_text = "600ns",
     .minimum = "0ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "As wqe_latency, for transfers that stay inside a host.",
     .origin = "NCCL's latency model: NVLink ring hop, LL protocol, 0.6 us"},
    {.name = "gpudirect",
     .kind = ParamKind::choice,
     .default_text = "on",
     .minimum = "",
     .maximum = "",
     .choices = "on|off",
     .meaning = "Whether NICs reach the memory of GPUs (GPUDirect RDMA). off: messages between hosts are staged in host memory at "
                "both ends "
                "and cross the cables between GPU and NIC in both directions.",
     .origin = "NCCL uses it wherever NIC and driver allow"},
    {.name = "staging_latency",
     .kind = ParamKind::duration,
     .default_text = "1us",
     .minimum = "0ns",
     .maximum = "1s",
     .choices = "",
     .meaning = "Without GPUDirect, added at each end of a message between hosts: copying the first or last chunk and noticing "
                "that it is there.",
     .origin =
         "assumption: a PCIe write to host memory and the poll of the CPU thread that waits for it, as receive_latency, each way"},
    {.name = "staging_rate",
     .kind = ParamKind::bandwidth,
     .default_text = "512Gbps",
     .minimum = "1bps",
     .maximum = "1000Tbps",
     .choices = "",
     .meaning = "Without GPUDirect, the most that a transfer between hosts gets, headers included.",
     .origin = "PCIe 5.0 x16, a GPU's way to host memory"},
    {.name = "mtu",
     .kind = ParamKind::bytes,
     .default_text = "4096B",
     .minimum = "1B",
     .maximum = "64KiB",
     .choices = "",
     .meaning = "Path MTU: what a packet holds of its message, headers apart.",
     .origin = "InfiniBand Architecture volume 1, section 7.7: the largest of five, and what RoCE and NDR networks are set to"},
    {.name = "protocol",
     .kind = ParamKind::choice,
     .default_text = "rocev2_ipv4",
     .minimum = "",
     .maximum = "",
     .choices = "rocev2_ipv4|rocev2_ipv6|infiniband|hpcc|none",
     .meaning = "Protocol stack whose headers are added per packet; links inside a host carry payload only.",
     .origin = "paper, section 7.3: RoCEv2"},
    {.name = "nvlink_efficiency",
     .kind = ParamKind::real,
     .default_text = "1",
     .minimum = "0.01",
     .maximum = "1",
     .choices = "",
     .meaning = "Share of the rate of links inside a host that data gets; packet headers, flow control and the copying kernels "
                "take the rest.",
     .origin = "none lost; the presets have what was measured"},
    {.name = "network_efficiency",
     .kind = ParamKind::real,
     .default_text = "1",
     .minimum = "0.01",
     .maximum = "1",
     .choices = "",
     .meaning =
         "Share of the network's rate that packets get; credits, acknowledgements and the NIC's access to memory take the rest.",
     .origin = "none lost; the presets have what was measured"},
    {.name = "nvls_efficiency",
     .kind = ParamKind::real,
     .default_text = "1",
     .minimum = "0.01",
     .maximum = "1",
     .choices = "",
     .meaning = "Share of what nvlink_efficiency leaves that data gets where NVSwitches add up and multiply (nvls, sharp).",
     .origin = "none lost; NCCL's tuning model has 0.85 for Hopper and 0.74 for Blackwell"},
    {.name = "queue_pairs",
     .kind = ParamKind::integer,
     .default_text = "1",
     .minimum = "1",
     .maximum = "1024",
     .choices = "",
     .meaning = "Queue pairs a transfer between hosts is split over (QP scaling); each takes its own ECMP path.",
     .origin = "no scaling"},
    {.name = "queue_pair_rate_max",
     .kind = ParamKind::text,
     .default_text = "unlimited",
     .minimum = "",
     .maximum = "",
     .choices = "",
     .meaning =
         "Rate limit of each queue pair between hosts, headers included, such as 100Gbps: what a NIC or an application paces it "
         "to.",
     .origin = "queue pairs are not paced unless somebody asks for it"},
    {.name = "share",
     .kind = ParamKind::choice,
     .default_text = "per_queue_pair",
     .minimum = "",
     .maximum = "",
     .choices = "per_queue_pair|per_transfer",
     .meaning = "Whether every queue pair has weight 1, or those of a transfer together.",
     .origin = "NICs and congestion control work per queue pair"},
    {.name = "routing",
     .kind = ParamKind::choice,
     .default_text = "ecmp",
     .minimum = "",
     .maximum = "",
     .choices = "ecmp|e_ecmp|static|spray|adaptive|adaptive_global",
     .meaning =
         "ecmp: each queue pair takes one shortest path, by a hash of both ends and its UDP source port. e_ecmp: likewise, and its "
         "number at the destination is hashed too, so that few source ports (flow.source_ports) do not matter. static: one that "
         "depends on the destination alone (D-mod-k: neighbouring "
         "destinations over neighbouring ports). adaptive: when it starts, every switch sends it over the next hop with the least "
         "flows for its rate. adaptive_global: it takes the path whose worst link has the least flows for its rate. spray: it is "
         "spread over all of them, evenly unless flow.path_weights says otherwise.",
     .origin =
         "ECMP is what RoCE fabrics run, E-ECMP what Meta's do; InfiniBand's subnet managers set static routes; adaptive is what "
         "InfiniBand and dynamic load balancing do for whole flows, "
         "adaptive_global "
         "what they could if switches knew of each other; spraying is what Ultra Ethernet and adaptive routing of packets come to "
         "on average"},
    {.name = "path_weights",
     .kind = ParamKind::choice,
     .default_text = "equal",
     .minimum = "",
     .maximum = "",
     .choices = "equal|capacity",
     .meaning =
         "How next hops on shortest paths share what goes to a destination under flow.routing = ecmp, e_ecmp or spray, and trees "
         "of "
         "operations in switches. equal: alike. capacity: each by the rate of its link, or what the ways on from there can carry "
         "to "
         "where all ways meet again, if that is less (WCMP); where a cable of a run becomes slow or fast again, weights follow "
         "failure.reroute later, but for trees, which stay.",
     .origin = "equal: what switches do unless told otherwise; capacity: Zhou et al., WCMP, EuroSys 2014; BGP link bandwidth, "
               "RFC 10005"},
    {.name = "routes",
     .kind = ParamKind::file,
     .default_text = "",
     .minimum = "",
     .maximum = "",
     .choices = "",
     .meaning =
         "For flow.routing = static: routes of your own, a file in protobuf text format, see network/routes_file.proto. They go "
         "before those by destination; operations in switches (sharp) keep to trees of their own. Relative to the current folder, "
         "in a scenario to the scenario's.",
     .origin = "none: those by destination alone"},
    {.name = "priorities",
     .kind = ParamKind::choice,
     .default_text = "strict",
     .minimum = "",
     .maximum = "",
     .choices = "strict|none",
     .meaning =
         "Whether transfers of a higher priority go strictly first on every link, or all share alike. Priorities are given by "
         "workloads (priority, Chakra's comm_priority, htsim's prio) and flow lists (hpcc's group 0).",
     .origin = "strict priority of IEEE 802.1Q; where nothing gives a priority, it makes no difference"},
    {.name = "reducing_switches",
     .kind = ParamKind::choice,
     .default_text = "all",
     .minimum = "",
     .maximum = "",
     .choices = "all|nvswitches|none",
     .meaning =
         "Switches that can add up and multiply what passes through them, if a collective's algorithm asks for it (nvls, sharp).",
     .origin = "choosing such an algorithm says that they can"},
    {.name = "ecmp_seed",
     .kind = ParamKind::text,
     .default_text = "run",
     .minimum = "",
     .maximum = "",
     .choices = "",
     .meaning = "Seed of the switches' hash functions, which choose paths (ecmp, e_ecmp, trees of operations in switches), ports "
                "of sprayed packets, and "
                "one of equals where routing is adaptive: a number, or run: the run's own, --seed.",
     .origin = "one seed for every random choice of a run, unless two runs are to differ in one of them"},
    {.name = "source_ports",
     .kind = ParamKind::integer,
     .default_text = "0",
     .minimum = "0",
     .maximum = "16384",
     .choices = "",
     .meaning = "UDP source ports of the queue pairs between two endpoints, all that ecmp can tell them apart by: q of connection "
                "c has number "
                "(c + q) modulo so many; 0: each has its own. No other routing minds.",
     .origin =
         "network cards draw a port for every queue pair from 0xC000 to 0xFFFF (RoCEv2); those that do not are what E-ECMP is for"},
    {.name = "detect_congestion",
     .kind = ParamKind::choice,
     .default_text = "off",
     .minimum = "",
     .maximum = "",
     .choices = "on|off",
     .meaning =
         "Flow mode: whether to write congestion.csv and congested_jobs.csv: on which links jobs get less than their hosts' own "
         "links would give them, when, and whose start began it. Needs flow.allocation = max_min.",
     .origin = "off: it takes time; paper, section 10.1"},
    {.name = "congestion_gap",
     .kind = ParamKind::duration,
     .default_text = "1min",
     .minimum = "0ns",
     .maximum = "1000h",
     .choices = "",
     .meaning = "Congestion of a link that is back after so long counts as one period: transfers come and go with every iteration.",
     .origin = "assumption: a few iterations of a large model"},
}};

ReducingSwitches reducing_switches_called(const std::string& name) {
  if (name == "all") return ReducingSwitches::all;
  return name == "nvswitches" ? ReducingSwitches::nvswitches : ReducingSwitches::none;
}

/// What a link has to move for `bytes` to come through where only the share `efficiency` of its rate is theirs.
Bytes blown_up(Bytes bytes, double efficiency) {
  if (efficiency == 1) return bytes;
  return Bytes::of(static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes.count()) / efficiency)));
}

Routing routing_called(std::string_view name) {
  if (name == "spray") return Routing::spray;
  if (name == "adaptive") return Routing::adaptive;
  return name == "adaptive_global" ? Routing::adaptive_global : Routing::single;
}

PathWeights path_weights(const ParamSet& flow) {
  if (flow.text("path_weights") == "equal") return PathWeights::equal;
  const std::string& routing = flow.text("routing");
  if (routing == "ecmp" || routing == "e_ecmp" || routing == "spray") return PathWeights::capacity;
  fail("paths-not-weighed",
       "flow.path_weights = capacity, and flow.routing = " + routing +
           (routing == "static" ? " gives every destination one next hop, by its number"
                                : " chooses next hops by what is under way on their links for their rate"),
       SourcePlace::named("flow.path_weights"), "take flow.routing=ecmp, e_ecmp or spray, or flow.path_weights=equal");
}

PathRule path_rule_of(const ParamSet& flow, std::uint64_t run_seed) {
  PathRule rule;
  rule.seed = flow.number_or("ecmp_seed", "run").value_or(run_seed);
  if (flow.text("routing") == "static") rule.choice = PathRule::Choice::by_destination;
  if (flow.text("routing") == "ecmp") rule.source_ports = static_cast<std::uint32_t>(flow.integer("source_ports"));
  rule.weights = path_weights(flow);
  return rule;
}

std::optional<Bandwidth> rate_limit(const ParamSet& flow) {
  const std::optional<Bandwidth> rate = flow.bandwidth_or("queue_pair_rate_max", "unlimited");
  if (!rate || *rate >= Bandwidth::bps(1)) return rate;
  fail("out-of-range", "flow.queue_pair_rate_max = " + flow.text("queue_pair_rate_max") + " lets nothing through",
       SourcePlace::named("flow.queue_pair_rate_max"), "at least 1bps, or unlimited");
}

constexpr std::size_t kPathCacheEntries = std::size_t{1} << 16;

}  // namespace

ParamTable flow_params() { return kFlowSettingsParams; }

FlowSettings::FlowSettings(const ParamSet& flow, std::uint64_t run_seed)
    : wqe_latency(flow.duration("wqe_latency")),
      receive_latency(flow.duration("receive_latency")),
      completion_latency(flow.duration("completion_latency")),
      switching_delay(flow.duration("switching_delay")),
      forwarding(flow.text("forwarding") == "cut_through" ? Forwarding::cut_through : Forwarding::store_and_forward),
      nvlink_latency(flow.duration("nvlink_latency")),
      gpudirect(flow.text("gpudirect") == "on"),
      staging_latency(flow.duration("staging_latency")),
      staging_rate(flow.bandwidth("staging_rate")),
      wire_format(protocol_stack(flow.text("protocol")), flow.bytes("mtu")),
      nvlink_efficiency(flow.real("nvlink_efficiency")),
      network_efficiency(flow.real("network_efficiency")),
      nvls_efficiency(flow.real("nvls_efficiency")),
      queue_pairs(static_cast<std::uint32_t>(flow.integer("queue_pairs"))),
      queue_pair_rate_max(rate_limit(flow)),
      share(flow.text("share") == "per_transfer" ? QueuePairShare::per_transfer : QueuePairShare::per_queue_pair),
      routing(routing_called(flow.text("routing"))),
      path_rule(path_rule_of(flow, run_seed)),
      priorities(flow.text("priorities") == "none" ? Priorities::none : Priorities::strict),
      reducing_switches(reducing_switches_called(flow.text("reducing_switches"))),
      path_cache_entries(kPathCacheEntries),
      detect_congestion(flow.text("detect_congestion") == "on"),
      congestion_gap(flow.duration("congestion_gap")) {}

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
