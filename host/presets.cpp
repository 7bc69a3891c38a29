#include "host/presets.hpp"

#include <array>

namespace weft {

namespace {

constexpr std::array<NamedValue, 3> hgx_a100 = {{
    {"collective.launch_latency", "34us", "fitted together with the efficiency"},
    {"collective.protocol", "simple", "NCCL's choice for messages above some hundred KB"},
    {"flow.nvlink_efficiency", "0.69",
     "fitted to all-reduces of 16 MB to 1 GB on 2 and 4 A100 SXM (nccl-tests, in vTrain's traces)"},
}};

constexpr std::array<NamedValue, 3> hgx_b200 = {{
    {"collective.launch_latency", "32us", "fitted together with the efficiency"},
    {"collective.protocol", "simple", "NCCL's choice for messages above some hundred KB"},
    {"flow.nvlink_efficiency", "0.83", "fitted to all-reduces of 16 MB to 17 GB on 8 B200"},
}};

constexpr std::array<NamedValue, 5> gh200 = {{
    {"collective.launch_latency", "82us", "fitted together with the efficiency"},
    {"collective.protocol", "simple", "NCCL's choice for messages above some hundred KB"},
    {"flow.protocol", "infiniband", "TACC, Vista: NDR InfiniBand"},
    {"flow.mtu", "4096B", "InfiniBand's largest, which NDR networks are set to"},
    {"flow.network_efficiency", "0.97", "fitted to all-reduces of 40 MB to 2.3 GB on 2 and 4 nodes of Vista (estimate-train-time)"},
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
    {"packet.ecn_at", "dequeue", "by the egress bytes that a packet leaves behind"},
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

constexpr std::array<ModuleInfo, 4> presets = {{
    {"preset", "hgx_a100", "NCCL on DGX or HGX A100, as measured inside a server.", {}, hgx_a100},
    {"preset", "hgx_b200", "NCCL on DGX or HGX B200, as measured inside a server.", {}, hgx_b200},
    {"preset", "gh200", "NCCL on nodes with one GH200 under NDR InfiniBand, as measured between nodes.", {}, gh200},
    {"preset", "hpcc", "Packet mode: switches and DCQCN as the RDMA simulators around HPCC have them.", {}, hpcc},
}};

}  // namespace

std::span<const ModuleInfo> run_presets() { return presets; }

}  // namespace weft
