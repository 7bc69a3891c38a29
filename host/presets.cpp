// SPDX-License-Identifier: Apache-2.0
#include "host/presets.hpp"

#include <array>
#include <cstddef>

namespace weft {

namespace {

template <std::size_t A, std::size_t B>
constexpr std::array<NamedValue, A + B> join(const std::array<NamedValue, A>& a, const std::array<NamedValue, B>& b) {
  std::array<NamedValue, A + B> all{};
  for (std::size_t i = 0; i < A; ++i) all[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) all[A + i] = b[i];
  return all;
}

constexpr std::string_view machine_table = "the table of its name: weft modules machine";

constexpr std::array<NamedValue, 1> hgx_a100 = {{{"nccl.machine", "hgx_a100", machine_table}}};
constexpr std::array<NamedValue, 1> hgx_h100 = {{{"nccl.machine", "hgx_h100", machine_table}}};
constexpr std::array<NamedValue, 1> hgx_h200 = {{{"nccl.machine", "hgx_h200", machine_table}}};
constexpr std::array<NamedValue, 1> hgx_b200 = {{{"nccl.machine", "hgx_b200", machine_table}}};
constexpr std::array<NamedValue, 1> gb200_nvl72 = {{{"nccl.machine", "gb200_nvl72", machine_table}}};
constexpr std::array<NamedValue, 1> gb300_nvl72 = {{{"nccl.machine", "gb300_nvl72", machine_table}}};
constexpr std::array<NamedValue, 1> mi300x = {{{"nccl.machine", "mi300x", machine_table}}};
constexpr std::array<NamedValue, 1> mi355x_8 = {{{"nccl.machine", "mi355x_8", machine_table}}};
constexpr std::array<NamedValue, 2> gh200 = {{
    {"nccl.machine", "gh200", machine_table},
    {"flow.protocol", "infiniband", "TACC, Vista: NDR InfiniBand"},
}};

// What the configurations of the simulators around HPCC have in common.
constexpr std::array<NamedValue, 24> hpcc_family = {{
    {"flow.protocol", "hpcc", "48 B of headers per packet"},
    {"flow.switching_delay", "0ns", "none"},
    {"flow.receive_latency", "0ns", "none"},
    {"flow.completion_latency", "0ns", "none"},
    {"packet.card_delay", "0ns", "none"},
    {"packet.ack_interval", "1", "every data packet is answered (L2_ACK_INTERVAL 1)"},
    {"packet.pacing", "card", "queue pairs begin at the rate of their NIC"},
    {"packet.buffer", "32MB", "switch memory"},
    {"packet.reserved", "4kB", "per port and queue"},
    {"packet.alpha", "0.125", "an eighth of what is left"},
    {"packet.ecn_at", "dequeue", "by the egress bytes that a packet leaves behind"},
    {"packet.ecn_pmax", "0.2", "linear between both (PMAX_MAP)"},
    {"dcqcn.updates", "periodic", "notifications are looked at every alpha_interval and decrease_interval"},
    {"dcqcn.g", "0.00390625", "EWMA_GAIN"},
    {"dcqcn.alpha_interval", "1us", "ALPHA_RESUME_INTERVAL 1"},
    {"dcqcn.decrease_interval", "4us", "RATE_DECREASE_INTERVAL 4"},
    {"dcqcn.byte_counter", "none", "there is none"},
    {"dcqcn.fast_recovery", "2", "FAST_RECOVERY_TIMES 1, where the first increase is number 0"},
    {"dcqcn.hyper_after", "2", "from the third increase on"},
    {"dcqcn.hyper_by", "timer", "increases by time alone"},
    {"dcqcn.hyper_steps", "equal", "hyper increases do not grow"},
    {"dcqcn.target", "first", "the target is not clamped until the rate was increased (CLAMP_TARGET_RATE 0)"},
    {"dcqcn.round_trips", "ignored", "times do not depend on the way"},
    {"dcqcn.notification_interval", "0ns",
     "every mark comes back, a flag in the acknowledgement there and a packet of its own here"},
}};
constexpr std::array<NamedValue, 2> window_by_rate = {{
    {"packet.window", "auto", "HAS_WIN 1: a bandwidth-delay product of its own way (SimAI: GLOBAL_T 0)"},
    {"packet.window_scaling", "rate", "VAR_WIN 1"},
}};
constexpr std::array<NamedValue, 1> answers_first = {{
    {"packet.answers", "own_priority",
     "assumption: ACK_HIGH_PRIO 0 there, where every window is that of the longest way (GLOBAL_T 1), long enough for "
     "acknowledgements that wait behind data"},
}};
constexpr std::array<NamedValue, 2> no_window = {{
    {"packet.answers", "own_priority", "acknowledgements go before data (ACK_HIGH_PRIO 1)"},
    {"packet.window", "none", "HAS_WIN 0"},
}};
// HPCC's own runs of DCQCN (its run.py: dcqcn and dcqcn_vwin).
constexpr std::array<NamedValue, 7> hpcc_steps = {{
    {"flow.mtu", "1000B", "payload of a packet (PACKET_PAYLOAD_SIZE 1000)"},
    {"packet.ecn_kmin", "400kB", "100 kB for every 25 Gb/s (KMIN_MAP)"},
    {"packet.ecn_kmax", "1600kB", "400 kB for every 25 Gb/s (KMAX_MAP)"},
    {"dcqcn.rate_interval", "300us", "RP_TIMER 300"},
    {"dcqcn.additive_increase", "0.02%", "RATE_AI: 5 Mb/s for every 25 Gb/s of the NIC"},
    {"dcqcn.hyper_increase", "0.2%", "RATE_HAI: 50 Mb/s for every 25 Gb/s of the NIC"},
    {"dcqcn.minimum_rate", "1Gbps", "MIN_RATE 1000"},
}};
// As SimAI, of the simulators of AI clusters that grew out of it, is configured (its SimAI.conf).
constexpr std::array<NamedValue, 8> simai_steps = {{
    {"packet.answers", "with_data", "acknowledgements wait their turn (ACK_HIGH_PRIO 0)"},
    {"flow.mtu", "9000B", "payload of a packet (PACKET_PAYLOAD_SIZE 9000)"},
    {"packet.ecn_kmin", "200kB", "800 kB at 400 Gb/s, 400 kB at 100 (KMIN_MAP); here in proportion to the rate, from 400 Gb/s"},
    {"packet.ecn_kmax", "800kB", "3,200 kB at 400 Gb/s, 1,600 kB at 100 (KMAX_MAP); likewise"},
    {"dcqcn.rate_interval", "900us", "RP_TIMER 900"},
    {"dcqcn.additive_increase", "50Mbps", "RATE_AI 50"},
    {"dcqcn.hyper_increase", "100Mbps", "RATE_HAI 100"},
    {"dcqcn.minimum_rate", "100Mbps", "MIN_RATE 100"},
}};
constexpr auto hpcc = join(join(join(hpcc_family, hpcc_steps), window_by_rate), answers_first);
constexpr auto hpcc_no_window = join(join(hpcc_family, hpcc_steps), no_window);
constexpr auto simai = join(join(hpcc_family, simai_steps), window_by_rate);

// mlxconfig of ConnectX-4 and later, with NVIDIA's table of DCQCN parameters (DOCA, "DCQCN CC
// Parameters"). Steps do not grow with the port's rate.
constexpr std::array<NamedValue, 18> connectx = {{
    {"packet.congestion_control", "dcqcn", "ROCE_CC_ALGORITHM ECN"},
    {"dcqcn.updates", "periodic", "flags that are looked at every dce_tcp_rtt and rate_reduce_monitor_period"},
    {"dcqcn.g", "0.0048828125", "dce_tcp_g 1019: 1 - 1019/1024"},
    {"dcqcn.alpha_interval", "1us", "dce_tcp_rtt 1; alpha begins at initial_alpha_value 1023/1024, here 1"},
    {"dcqcn.decrease_interval", "4us",
     "rate_reduce_monitor_period 4; the cut is alpha / 2 (rpg_gd 11), and so never below rpg_min_dec_fac 50 %"},
    {"dcqcn.rate_interval", "300us", "rpg_time_reset 300"},
    {"dcqcn.byte_counter", "32767B", "rpg_byte_reset 32767"},
    {"dcqcn.fast_recovery", "1", "rpg_threshold 1"},
    {"dcqcn.hyper_after", "1", "rpg_threshold 1"},
    {"dcqcn.hyper_by", "both", "IEEE 802.1Qau: both stages have passed the threshold"},
    {"dcqcn.additive_increase", "5Mbps", "rpg_ai_rate 5"},
    {"dcqcn.hyper_increase", "50Mbps", "rpg_hai_rate 50"},
    {"dcqcn.minimum_rate", "1Mbps", "rpg_min_rate 1"},
    {"dcqcn.target", "first", "clamp_tgt_rate 0, clamp_tgt_rate_after_time_inc 1; rate_to_set_on_first_cnp 0: none"},
    {"dcqcn.notification_interval", "4us", "min_time_between_cnps 4"},
    {"packet.pacing", "card", "rate_to_set_on_first_cnp 0 and no static rate: queue pairs begin at their port's rate"},
    {"dcqcn.round_trips", "ignored", "times do not depend on the way"},
    {"packet.window_scaling", "fixed", "what a card has under way does not follow its rate"},
}};

constexpr std::array<NamedValue, 18> dcqcn_paper = {{
    {"packet.congestion_control", "dcqcn", "Zhu et al., SIGCOMM 2015, for links of 40 Gb/s"},
    {"packet.window", "none", "rates alone"},
    {"packet.pacing", "card", "section 3.1: flows start at line rate"},
    {"dcqcn.round_trips", "ignored", "times do not depend on the way"},
    {"packet.ecn_kmin", "12500B", "5 KB at 40 Gb/s: figure 14"},
    {"packet.ecn_kmax", "500kB", "200 KB at 40 Gb/s: figure 14"},
    {"packet.ecn_pmax", "0.01", "figure 14"},
    {"dcqcn.updates", "on_notification", "section 3.1"},
    {"dcqcn.g", "0.00390625", "1/256: figure 14"},
    {"dcqcn.alpha_interval", "55us", "section 3.1"},
    {"dcqcn.rate_interval", "55us", "figure 14"},
    {"dcqcn.byte_counter", "10MB", "figure 14"},
    {"dcqcn.fast_recovery", "5", "section 3.1"},
    {"dcqcn.hyper_after", "5", "figure 7"},
    {"dcqcn.hyper_by", "both", "figure 7"},
    {"dcqcn.additive_increase", "40Mbps", "section 3.1"},
    {"dcqcn.hyper_increase", "100Mbps", "not in the paper; as the RDMA simulators around HPCC"},
    {"dcqcn.minimum_rate", "100Mbps", "likewise"},
}};

constexpr std::array<ModuleInfo, 14> presets = {{
    {"preset", "hgx_a100", "NCCL on DGX or HGX A100, whatever the topology calls its servers.", {}, hgx_a100},
    {"preset", "hgx_h100", "NCCL on DGX or HGX H100.", {}, hgx_h100},
    {"preset", "hgx_h200", "NCCL on DGX or HGX H200.", {}, hgx_h200},
    {"preset", "hgx_b200", "NCCL on DGX or HGX B200.", {}, hgx_b200},
    {"preset", "gb200_nvl72", "NCCL in NVLink domains of GB200.", {}, gb200_nvl72},
    {"preset", "gb300_nvl72", "NCCL in NVLink domains of GB300.", {}, gb300_nvl72},
    {"preset", "gh200", "NCCL on nodes with one GH200 under NDR InfiniBand.", {}, gh200},
    {"preset", "mi300x", "RCCL on platforms of 8 MI300X.", {}, mi300x},
    {"preset", "mi355x_8", "RCCL on platforms of 8 MI355X.", {}, mi355x_8},
    {"preset",
     "hpcc",
     "Packet mode: switches and DCQCN as the HPCC simulator runs them, with a window that follows the rate.",
     {},
     hpcc},
    {"preset",
     "hpcc_no_window",
     "Packet mode: switches and DCQCN as the HPCC simulator runs them without a window: rates and pauses alone.",
     {},
     hpcc_no_window},
    {"preset",
     "simai",
     "Packet mode: as preset hpcc, with packets, marks, timer and steps of SimAI, for its links of 400 Gb/s.",
     {},
     simai},
    {"preset",
     "connectx",
     "Packet mode: DCQCN as ConnectX network cards are shipped, whatever the rate of their ports.",
     {},
     connectx},
    {"preset", "dcqcn_paper", "Packet mode: DCQCN and marking as its paper has them, for links of 40 Gb/s.", {}, dcqcn_paper},
}};

}  // namespace

std::span<const ModuleInfo> run_presets() { return presets; }

}  // namespace weft
