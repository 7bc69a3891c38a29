// SPDX-License-Identifier: Apache-2.0
#include "host/transport/packet_settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"
#include "network/packet/packet.hpp"

namespace weft {

namespace {

constexpr std::string_view hpcc_simulators = "the RDMA simulators around HPCC";

/// Calls `add` with each text between commas.
template <class Add>
void for_each_item(std::string_view list, const Add& add) {
  while (true) {
    const std::size_t comma = list.find(',');
    add(list.substr(0, comma));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

std::uint32_t whole_number(std::string_view text, const std::string& param, std::uint32_t least, std::uint32_t most,
                           const std::string& hint) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    fail("bad-value", fmt::format("{}: {} is not a number from {} to {}", param, in_quotes(text), least, most),
         SourcePlace::named(param), hint);
  }
  return number;
}

QueuePairWindow read_window(const std::string& text, const std::string& param) {
  if (text == "none") return {false, std::nullopt};
  const QueuePairWindow window{true, read_bytes_or(text, "auto", param)};
  if (window.bytes && *window.bytes == Bytes::zero()) {
    fail("bad-value", fmt::format("{}: a window of nothing sends nothing", param), SourcePlace::named(param),
         "write auto, none, or a size such as 500kB");
  }
  return window;
}

std::vector<std::uint32_t> read_lossy(const std::string& text, const std::string& param) {
  std::vector<std::uint32_t> lossy;
  if (text == "none") return lossy;
  for_each_item(text, [&](std::string_view item) {
    lossy.push_back(whole_number(item, param, 0, packet_classes_max - 1, "write none, or priorities such as 0,2"));
  });
  return lossy;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> read_weights(const std::string& text, const std::string& param) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> weights;
  if (text == "strict") return weights;
  for_each_item(text, [&](std::string_view item) {
    const std::string hint = "write strict, or priorities with weights such as 0:1,1:3";
    const std::size_t colon = std::min(item.find(':'), item.size());
    const std::uint32_t priority = whole_number(item.substr(0, colon), param, 0, packet_classes_max - 1, hint);
    const std::string_view weight = colon == item.size() ? std::string_view() : item.substr(colon + 1);
    weights.emplace_back(priority, whole_number(weight, param, 1, 1000, hint));
  });
  return weights;
}

constexpr std::array packet_rows = {
    ParamSpec{.name = "congestion_control",
              .kind = ParamKind::choice,
              .default_text = "dcqcn",
              .choices = "dcqcn|dctcp|hpcc|swift|none",
              .meaning =
                  "What holds queue pairs back. dcqcn: rates by congestion notifications. dctcp: windows by marks that "
                  "acknowledgements echo. hpcc: windows by what switches tell of their ports. swift: windows by round-trip times. "
                  "none: pauses alone. The parameters of each are in the table of its name.",
              .origin = "what RoCE fabrics run"},
    param<&PacketSettings::ack_interval>(
        {.name = "ack_interval",
         .default_text = "16",
         .minimum = "1",
         .maximum = "65536",
         .meaning = "Data packets of a queue pair that one acknowledgement answers, or a fifth of packet.window if that is less; a "
                    "message's last "
                    "packet is always answered, and so is every packet where congestion control has windows (dctcp).",
         .origin = "NICs coalesce acknowledgements; every packet is answered in the preset hpcc",
         .unused = {{"packet.congestion_control = dctcp", "with packet.congestion_control = dctcp every packet is answered"},
                    {"packet.congestion_control = hpcc", "with packet.congestion_control = hpcc every packet is answered"},
                    {"packet.congestion_control = swift", "with packet.congestion_control = swift every packet is answered"}}}),
    param_read<read_window, &PacketSettings::window>(
        {.name = "window",
         .default_text = "auto",
         .meaning =
             "What a queue pair may have sent and not acknowledged, with headers, whatever congestion control says; such as 500kB. "
             "auto: what its way holds, which is the rate of its slowest link times the round trip when nothing else is under way, "
             "with a packet ahead of the acknowledgement at every hop, twice where packets take different ways, and the packets "
             "from "
             "one acknowledgement to the next. none: any number of bytes, but under hpcc and swift, which keep account of every "
             "packet "
             "under "
             "way, eight times what the way holds and 64 packets.",
         .origin = "one bandwidth-delay product: HPCC (SIGCOMM 2019), section 3.2, and RDMA simulators around it (HAS_WIN 1); IRN "
                   "(SIGCOMM "
                   "2018), section 3.2 (BDP-FC)"}),
    param<&PacketSettings::window_follows_rate>(
        {.name = "window_scaling",
         .default_text = "rate",
         .choices = "fixed|rate",
         .meaning = "fixed: packet.window as it is. rate: in proportion to the rate that congestion control gives the queue pair "
                    "(dcqcn), a "
                    "packet at least.",
         .origin = "rate: the RDMA simulators around HPCC (VAR_WIN 1); so that marks shorten queues at once, and rates are not cut "
                   "further while they drain",
         .word = "rate",
         .unused = {{"packet.congestion_control != dcqcn", "only a window under dcqcn follows a rate"},
                    {"packet.window = none", "only a window under dcqcn follows a rate"}}}),
    param<&PacketSettings::paces_by_route>(
        {.name = "pacing",
         .default_text = "way",
         .choices = "card|way",
         .meaning = "The highest rate of a queue pair. way: that of the slowest link of its way. card: that of its card's port, "
                    "whatever is "
                    "beyond it: what is sent faster than the way takes it waits in switches, within packet.window.",
         .origin = "static rate of an InfiniBand path (PathRecord:Rate, inter-packet delay of the address vector; InfiniBand "
                   "Architecture "
                   "Specification, volume 1, section 9.11), which operators set where cards are faster than long links",
         .word = "way"}),
    param<&PacketSettings::answers_with_data>(
        {.name = "answers",
         .default_text = "own_priority",
         .choices = "own_priority|with_data",
         .meaning = "Where acknowledgements and congestion notifications go. own_priority: a lossy priority above all others. "
                    "with_data: the priority "
                    "of what they answer.",
         .origin = "the DCQCN paper sends notifications with high priority; the simulators around HPCC all answers",
         .word = "with_data"}),
    param<&PacketSettings::selective_repeat>(
        {.name = "retransmission",
         .default_text = "go_back_n",
         .choices = "go_back_n|selective_repeat",
         .meaning =
             "What is sent again when a packet is missing. go_back_n: that packet and all after it. selective_repeat: that "
             "packet. Where flow.routing is spray or adaptive packets overtake each other: cards keep what comes early, and only "
             "the time-out repeats.",
         .origin = "go-back-N is what RoCE began with; IRN (SIGCOMM 2018) argues for selective repeat",
         .word = "selective_repeat"}),
    param<&PacketSettings::retransmission_timeout>({.name = "retransmission_timeout",
                                                    .default_text = "67ms",
                                                    .minimum = "0ns",
                                                    .maximum = "100s",
                                                    .meaning = "A queue pair of which nothing was acknowledged for so long, four "
                                                               "round trips at least, sends again from the first packet "
                                                               "missing; 0s: never.",
                                                    .origin = "local ACK timeout 14 of InfiniBand queue pairs: 4.096 us x 2^14"}),
    param<&PacketSettings::adaptive_retransmission>(
        {.name = "adaptive_retransmission",
         .default_text = "lossy",
         .choices = "off|lossy|on",
         .meaning =
             "A queue pair's time-out begins at a sixteenth of packet.retransmission_timeout, and doubles up to the whole each "
             "time in a "
             "row that nothing came back. lossy: in the priorities of packet.lossy. off: it is the whole always.",
         .origin = "NVIDIA, Adaptive Retransmission: Parameters Control (2025): one of the accelerations for lossy RoCE "
                   "(roce_adp_retrans_en), doubled up to the queue pair's ACK timeout; a sixteenth is an assumption: 4 ms of 67",
         .unused = {{"packet.retransmission_timeout = 0s", "packet.retransmission_timeout is 0: never"},
                    {"packet.lossy = none and packet.adaptive_retransmission = off", "no priority is lossy (packet.lossy)"}}}),
    param<&PacketSettings::retries>(
        {.name = "retries",
         .default_text = "7",
         .minimum = "0",
         .maximum = "1000",
         .meaning = "A queue pair that sent and of which nothing was acknowledged for so many times packet.retransmission_timeout "
                    "gives up, "
                    "and "
                    "the run ends with the error retry-exceeded; 0: it never does. Times in which it is paused or cut off do not "
                    "count, and "
                    "where "
                    "cables of the run fail it waits for other ways.",
         .origin = "NCCL_IB_RETRY_CNT; NVIDIA, Adaptive Retransmission: Parameters Control: ACK timeout times retries, then "
                   "IBV_WC_RETRY_EXC_ERR",
         .unused = {{"packet.retransmission_timeout = 0s", "packet.retransmission_timeout is 0: never"}}}),
    param<&PacketSettings::repeats_max>(
        {.name = "repeats_max",
         .default_text = "100000",
         .minimum = "0",
         .meaning =
             "With packet.retries = 0, packets that a card sends again while nothing new comes to any card, after which the run "
             "ends with the error livelock, unless cables of the run fail; 0: it goes on. It is looked for every 10 ms.",
         .origin = "round figure: the content of 400 MB, thousands of windows"}),
    param<&PacketSettings::slow_restart>({.name = "slow_restart",
                                          .default_text = "true",
                                          .meaning = "After a loss, a queue pair has one packet under way at first (with selective "
                                                     "repeat, of those sent since): each that is "
                                                     "acknowledged makes that one "
                                                     "more, up to half of what was under way at the loss, and then each window "
                                                     "does, until it is what it was. false: it goes "
                                                     "back at full rate.",
                                          .origin = "roce_slow_restart_en of NVIDIA's ConnectX (register ROCE_ACCL), on by "
                                                    "default; how its window grows is not published: "
                                                    "here as TCP's after a time-out (RFC 5681, section 3.1)"}),
    param<&PacketSettings::card_delay>(
        {.name = "card_delay",
         .default_text = "200ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "From a packet's arrival at a card until the card acts on it: acknowledges, slows down, pauses. Part of "
                    "flow.receive_latency.",
         .origin = "assumption: the part of a card's latency that comes before PCIe",
         .fit = {"0ns", "20us"}}),
    param<&PacketSettings::buffer>(
        {.name = "buffer",
         .default_text = "topology",
         .meaning =
             "Packet memory of every switch but border routers between sites, headroom included, such as 16MB; topology: as the "
             "topology says, 32 MB where it says nothing. Builders have a parameter per level, and packet.profiles sets any "
             "switch.",
         .origin = "32 MB: the RDMA simulators around HPCC",
         .word = "topology"}),
    param<&PacketSettings::reserved>({.name = "reserved",
                                      .default_text = "4kB",
                                      .minimum = "0B",
                                      .maximum = "1GB",
                                      .meaning = "Memory of a switch that each of its ports has to itself, per priority.",
                                      .origin = hpcc_simulators}),
    param<&PacketSettings::alpha>({.name = "alpha",
                                   .default_text = "0.125",
                                   .minimum = "0.001",
                                   .maximum = "64",
                                   .meaning = "Dynamic threshold of lossless priorities: what came in by a port may take up to "
                                              "alpha times what is left of the shared "
                                              "memory before the port asks for a pause.",
                                   .origin = "1/8: the RDMA simulators around HPCC"}),
    param<&PacketSettings::lossy_alpha>(
        {.name = "lossy_alpha",
         .default_text = "1",
         .minimum = "0.001",
         .maximum = "64",
         .meaning =
             "Dynamic threshold of lossy priorities: a queue of theirs may take up to so many times what is left of the shared "
             "memory, and loses packets beyond that.",
         .origin = "Choudhury and Hahne (1998) find 1 to 2 best; SONiC's egress profiles for lossy queues have 8 (dynamic_th 3)"}),
    param<&PacketSettings::headroom>(
        {.name = "headroom",
         .default_text = "auto",
         .meaning =
             "Memory per port and lossless priority for what still comes after a pause was asked for, such as 100kB; auto: what "
             "rate, cable and "
             "largest packet need.",
         .origin = "both ways of propagation, three packets and the pauses of all priorities (network/packet/shared_buffer)",
         .word = "auto"}),
    param<&PacketSettings::pfc_reach>(
        {.name = "pfc_reach",
         .default_text = "0.5ms",
         .minimum = "0ns",
         .maximum = "10s",
         .meaning = "Longest cable, in propagation delay one way, over which switches ask for pauses. Longer ones have no "
                    "headroom, and what "
                    "comes by them is lossy in every priority: dropped where its egress queue has taken its share of the memory.",
         .origin =
             "100 km of fibre, the reach for which Broadcom announced lossless RoCE through Jericho4 (2025); wide-area links run "
             "without PFC and with deep buffers"}),
    param<&PacketSettings::resume_offset>(
        {.name = "resume_offset",
         .default_text = "auto",
         .meaning =
             "How far below the threshold (Xoff) a port's priority has to fall to let go (Xon), such as 10kB; auto: two of the "
             "largest packets.",
         .origin = "3 KB in the RDMA simulators around HPCC, with packets of 1,048 B",
         .word = "auto"}),
    param<&PacketSettings::pause_time>(
        {.name = "pause_time",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "How long a pause holds if nothing more comes; it is sent again after half of that. 0ns: until resumed.",
         .origin = "a pause of 65,535 quanta is 336 us at 100 Gb/s and refreshed in time, which comes to the same"}),
    param<&PacketSettings::is_unsafe>(
        {.name = "unsafe",
         .default_text = "false",
         .meaning =
             "true: packet.headroom may be less than what can come after a pause was asked for, and what finds no headroom is "
             "dropped and "
             "counted. false: such a run is refused.",
         .origin = "for studies of what a wrong cable length in a switch's configuration does"}),
    param_read<read_slow_hosts, &PacketSettings::slow_hosts>(
        {.name = "slow_hosts",
         .default_text = "none",
         .meaning = "Hosts that take what each port brings at this rate only, such as host3:40Gbps,host1?:10Gbps. What waits in a "
                    "card beyond "
                    "packet.receive_buffer makes it pause its switch.",
         .origin = "slow-receiver symptom: Guo et al., RDMA over Commodity Ethernet at Scale (SIGCOMM 2016), section 4.4"}),
    param<&PacketSettings::receive_buffer>(
        {.name = "receive_buffer",
         .default_text = "262016B",
         .minimum = "1B",
         .maximum = "1GB",
         .meaning =
             "What may wait in the card of a slow host (packet.slow_hosts) before it asks for a pause; at half of that it lets go.",
         .origin = "receive buffer of a ConnectX port as mlnx_qos shows it",
         .unused = {{"packet.slow_hosts = none", "no host is slow (packet.slow_hosts)"}}}),
    param_read<read_pausing_hosts, &PacketSettings::pausing_hosts>(
        {.name = "pausing_hosts",
         .default_text = "none",
         .meaning =
             "Hosts whose cards pause their switches in all lossless priorities from this time on, such as host3:1ms. Without a "
             "packet.watchdog the run ends when nothing can go on, with the error pause-storm.",
         .origin = "NIC PFC storm: Guo et al., RDMA over Commodity Ethernet at Scale (SIGCOMM 2016), section 4.3"}),
    param<&PacketSettings::beside_flows_min>(
        {.name = "beside_flows_min",
         .default_text = "0.05",
         .minimum = "0.01",
         .maximum = "1",
         .meaning = "Of a cable that packets share with jobs in flow mode (`mode: FLOW` of a job), what packets have at least, "
                    "whatever flows take: "
                    "acknowledgements are no part of the max-min shares that both get otherwise.",
         .origin = "assumption; an acknowledgement of 64 B for every packet of 4 KB takes 1.5 %",
         .unused = {{"flow_jobs = none", "no job is in flow mode"}}}),
    param<&PacketSettings::watchdog, &PfcWatchdogSettings::detection>(
        {.name = "watchdog",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "100s",
         .meaning = "PFC watchdog of switches: a queue that pauses have held for so long without a break is in a storm; what waits "
                    "in it is "
                    "dropped, and what comes for it. 0ns: none, and a run whose pauses wait for each other in a circle ends with "
                    "the error "
                    "pfc-deadlock.",
         .origin = "SONiC's is off until configured, and then looks for 200 ms"}),
    param<&PacketSettings::watchdog, &PfcWatchdogSettings::restoration>(
        {.name = "watchdog_restoration",
         .default_text = "200ms",
         .minimum = "0ns",
         .maximum = "100s",
         .meaning =
             "After a storm (packet.watchdog), the queue takes packets again when its priority has not been paused for so long.",
         .origin = "SONiC's default",
         .unused = {{"packet.watchdog = 0s", "packet.watchdog is off"}}}),
    param<&PacketSettings::ecn_kmin>(
        {.name = "ecn_kmin",
         .default_text = "400kB",
         .minimum = "0B",
         .maximum = "1GB",
         .meaning = "Queue of a port of 100 Gb/s up to which no packet is marked; in proportion to the rate for others.",
         .origin = hpcc_simulators,
         .fit = {"10kB", "10MB", true}}),
    param<&PacketSettings::ecn_kmax>(
        {.name = "ecn_kmax",
         .default_text = "1600kB",
         .minimum = "0B",
         .maximum = "2GB",
         .meaning = "Queue of a port of 100 Gb/s above which every packet is marked; in proportion to the rate for others.",
         .origin = hpcc_simulators,
         .fit = {"100kB", "40MB", true}}),
    param<&PacketSettings::ecn_pmax>({.name = "ecn_pmax",
                                      .default_text = "0.2",
                                      .minimum = "0",
                                      .maximum = "1",
                                      .meaning = "Probability of a mark at ecn_kmax, rising from 0 at ecn_kmin.",
                                      .origin = hpcc_simulators,
                                      .fit = {"0.001", "1", true}}),
    param<&PacketSettings::marks_at_dequeue>(
        {.name = "ecn_at",
         .default_text = "enqueue",
         .choices = "enqueue|dequeue",
         .meaning =
             "When switches decide on a packet's mark. enqueue: as it joins a queue, by what waits before it. dequeue: as it "
             "leaves, by "
             "what waits behind it.",
         .origin = "RED marks arrivals; the RDMA simulators around HPCC mark departures",
         .word = "dequeue"}),
    param<&PacketSettings::adaptive_band>(
        {.name = "adaptive_band",
         .default_text = "1us",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "Where flow.routing is adaptive: ports at which a packet would wait at most so much longer than at the least "
                    "loaded one "
                    "count as equally loaded, and packets are spread over them at random. 0ns: the least loaded one.",
         .origin =
             "assumption; switches compare loads in a few grades (quality bands of Broadcom's dynamic load balancing, grades of "
             "NVIDIA's "
             "adaptive routing), not to the byte",
         .unused = {{"flow.routing != adaptive", "flow.routing is not adaptive"}}}),
    param_read<read_switch_profiles, &PacketSettings::profiles>(
        {.name = "profiles",
         .default_text = "none",
         .meaning =
             "What single switches, levels or priorities have in place of the values of all: switches, a colon, and any of buffer, "
             "alpha, lossy_alpha, ecn_kmin, ecn_kmax, ecn_pmax, with priority=N for one priority alone; semicolons between "
             "profiles, and the last one stands. Such as leaf: buffer=64MB alpha=0.25; spine1*: priority=0 ecn_kmin=200kB "
             "ecn_kmax=800kB. Switches are named by buffer class (builders: leaf, agg, spine, border), level (level1), name, or by "
             "a "
             "pattern with * and ?.",
         .origin = "buffer and WRED profiles of SONiC, which are bound to ports and queues"}),
    param_read<read_lossy, &PacketSettings::lossy>(
        {.name = "lossy",
         .default_text = "none",
         .meaning = "Priorities without pauses, such as 0,2: switches drop what finds no room, and senders send it again.",
         .origin = "RoCE as it is run: lossless"}),
    param<&PacketSettings::drops_early>(
        {.name = "lossy_queues",
         .default_text = "tail_drop",
         .choices = "tail_drop|wred",
         .meaning =
             "What lossy priorities do with a packet that joins a long queue. tail_drop: mark it, and drop it only where it finds "
             "no "
             "room. wred: drop it with the probability with which others mark (ecn_kmin, ecn_kmax, ecn_pmax), by the queue of the "
             "instant; nothing is marked then.",
         .origin = "weighted random early detection, for traffic without ECN",
         .word = "wred"}),
    param_read<read_weights, &PacketSettings::weights>(
        {.name = "weights",
         .default_text = "strict",
         .meaning =
             "Priorities that share a port by deficit round robin and their weights, such as 0:1,1:3; the others go strictly "
             "before them, the "
             "highest first. strict: all do.",
         .origin = "as in flow mode (flow.priorities)"}),
};

}  // namespace

ParamTable packet_params() { return packet_rows; }

PacketSettings::PacketSettings(const ParamSet& packet, std::shared_ptr<const CongestionAlgorithm> algorithm)
    : congestion(std::move(algorithm)) {
  fill(*this, packet);
  if (ecn_kmin > ecn_kmax) {
    fail("bad-threshold", fmt::format("packet.ecn_kmin = {} is above packet.ecn_kmax = {}", to_text(ecn_kmin), to_text(ecn_kmax)),
         SourcePlace::named("packet.ecn_kmin"), "packets are marked from ecn_kmin on, and all of them above ecn_kmax");
  }
  if (drops_early && lossy.empty()) {
    fail("bad-value", "packet.lossy_queues = wred, and no priority is lossy", SourcePlace::named("packet.lossy_queues"),
         "say which are, such as packet.lossy=0");
  }
}

}  // namespace weft
