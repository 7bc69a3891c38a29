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

constexpr std::array<ModuleInfo, 3> presets = {{
    {"preset", "hgx_a100", "NCCL on DGX or HGX A100, as measured inside a server.", {}, hgx_a100},
    {"preset", "hgx_b200", "NCCL on DGX or HGX B200, as measured inside a server.", {}, hgx_b200},
    {"preset", "gh200", "NCCL on nodes with one GH200 under NDR InfiniBand, as measured between nodes.", {}, gh200},
}};

}  // namespace

std::span<const ModuleInfo> run_presets() { return presets; }

}  // namespace weft
