#include "host/presets.hpp"

#include <array>

namespace weft {

namespace {

constexpr std::string_view kMachine = "the table of its name: weft modules machine";

constexpr std::array<NamedValue, 1> hgx_a100 = {{{"nccl.machine", "hgx_a100", kMachine}}};
constexpr std::array<NamedValue, 1> hgx_h100 = {{{"nccl.machine", "hgx_h100", kMachine}}};
constexpr std::array<NamedValue, 1> hgx_h200 = {{{"nccl.machine", "hgx_h200", kMachine}}};
constexpr std::array<NamedValue, 1> hgx_b200 = {{{"nccl.machine", "hgx_b200", kMachine}}};
constexpr std::array<NamedValue, 1> gb200_nvl72 = {{{"nccl.machine", "gb200_nvl72", kMachine}}};
constexpr std::array<NamedValue, 1> gb300_nvl72 = {{{"nccl.machine", "gb300_nvl72", kMachine}}};
constexpr std::array<NamedValue, 1> mi300x = {{{"nccl.machine", "mi300x", kMachine}}};
constexpr std::array<NamedValue, 1> mi355x_8 = {{{"nccl.machine", "mi355x_8", kMachine}}};
constexpr std::array<NamedValue, 2> gh200 = {{
    {"nccl.machine", "gh200", kMachine},
    {"flow.protocol", "infiniband", "TACC, Vista: NDR InfiniBand"},
}};

constexpr std::array<NamedValue, 23> hpcc = {{
    {"flow.protocol", "hpcc", "48 B of headers per packet"},
    {"flow.mtu", "1000B", "payload of a packet"},
    {"flow.switching_delay", "0ns", "none"},
    {"flow.receive_latency", "0ns", "none"},
    {"flow.completion_latency", "0ns", "none"},
    {"packet.card_delay", "0ns", "none"},
    {"packet.ack_interval", "1", "every data packet is answered"},
    {"packet.answers", "own_priority", "acknowledgements go before data"},
    {"packet.buffer", "32MB", "switch memory"},
    {"packet.reserved", "4kB", "per port and queue"},
    {"packet.alpha", "0.125", "an eighth of what is left"},
    {"packet.resume_offset", "3kB", "below the threshold"},
    {"packet.ecn_kmin", "400kB", "at 100 Gb/s"},
    {"packet.ecn_kmax", "1600kB", "at 100 Gb/s"},
    {"packet.ecn_pmax", "0.2", "linear between both"},
    {"dcqcn.alpha_interval", "1us", "resume interval of alpha"},
    {"dcqcn.rate_interval", "900us", "timer of the rate's increase"},
    {"dcqcn.byte_counter", "1TB", "there is none"},
    {"dcqcn.fast_recovery", "1", "rounds of fast recovery"},
    {"dcqcn.additive_increase", "50Mbps", "per increase"},
    {"dcqcn.decrease_interval", "4us", "of the rate"},
    {"dcqcn.target", "first", "the target is not clamped until the rate was increased"},
    {"dcqcn.notification_interval", "0ns",
     "every mark comes back, a flag in the acknowledgement there and a packet of its own here"},
}};

constexpr std::array<ModuleInfo, 10> presets = {{
    {"preset", "hgx_a100", "NCCL on DGX or HGX A100, whatever the topology calls its servers.", {}, hgx_a100},
    {"preset", "hgx_h100", "NCCL on DGX or HGX H100.", {}, hgx_h100},
    {"preset", "hgx_h200", "NCCL on DGX or HGX H200.", {}, hgx_h200},
    {"preset", "hgx_b200", "NCCL on DGX or HGX B200.", {}, hgx_b200},
    {"preset", "gb200_nvl72", "NCCL in NVLink domains of GB200.", {}, gb200_nvl72},
    {"preset", "gb300_nvl72", "NCCL in NVLink domains of GB300.", {}, gb300_nvl72},
    {"preset", "gh200", "NCCL on nodes with one GH200 under NDR InfiniBand.", {}, gh200},
    {"preset", "mi300x", "RCCL on platforms of 8 MI300X.", {}, mi300x},
    {"preset", "mi355x_8", "RCCL on platforms of 8 MI355X.", {}, mi355x_8},
    {"preset", "hpcc", "Packet mode: switches and DCQCN as the RDMA simulators around HPCC have them.", {}, hpcc},
}};

}  // namespace

std::span<const ModuleInfo> run_presets() { return presets; }

}  // namespace weft
