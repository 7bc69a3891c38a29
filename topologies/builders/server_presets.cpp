// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/server_presets.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

constexpr std::string_view pcie_4_origin = "PCIe 4.0 x16: 16 GT/s on 16 lanes";
constexpr std::string_view pcie_5_origin = "PCIe 5.0 x16: 32 GT/s on 16 lanes";
constexpr std::string_view pcie_delay_origin = "assumption: one PCIe switch, whose vendors state 100 to 150 ns from port to port";
constexpr std::string_view nvlink_delay_origin = "assumption: as for H100 in SimAI's topologies, 0.000025 ms";

constexpr std::array<NamedValue, 8> hgx_h100 = {{
    {"gpus_per_host", "8", "NVIDIA, DGX H100 data sheet: 8 GPUs"},
    {"nics_per_host", "8", "the same: a ConnectX-7 per GPU; storage has NICs of its own"},
    {"inside", "nvswitch", "the same: 4 NVSwitches, to which the links of every GPU are dealt"},
    {"nvlink_rate", "3600Gbps",
     "NVIDIA, H100 SXM data sheet: NVLink 4, 900 GB/s in both directions together (18 links of 25 GB/s each way)"},
    {"nvlink_delay", "25ns", "SimAI's H100 topologies: 0.000025 ms"},
    {"pcie_rate", "512Gbps", pcie_5_origin},
    {"pcie_delay", "100ns", pcie_delay_origin},
    {"nic_rate", "400Gbps", "ConnectX-7: NDR InfiniBand or 400G Ethernet"},
}};

constexpr std::array<NamedValue, 8> hgx_h200 = {{
    {"gpus_per_host", "8", "NVIDIA, DGX H200 data sheet: 8 GPUs"},
    {"nics_per_host", "8", "the same: a ConnectX-7 per GPU; storage has NICs of its own"},
    {"inside", "nvswitch", "the same: 4 NVSwitches, to which the links of every GPU are dealt"},
    {"nvlink_rate", "3600Gbps", "NVIDIA, H200 data sheet: NVLink, 900 GB/s in both directions together, as H100"},
    {"nvlink_delay", "25ns", "SimAI's H100 topologies: 0.000025 ms"},
    {"pcie_rate", "512Gbps", pcie_5_origin},
    {"pcie_delay", "100ns", pcie_delay_origin},
    {"nic_rate", "400Gbps", "ConnectX-7: NDR InfiniBand or 400G Ethernet"},
}};

constexpr std::array<NamedValue, 8> hgx_a100 = {{
    {"gpus_per_host", "8", "NVIDIA, DGX A100 data sheet: 8 GPUs"},
    {"nics_per_host", "8", "the same: 8 single-port ConnectX-6 for the compute network"},
    {"inside", "nvswitch", "the same: 6 NVSwitches, to which the links of every GPU are dealt"},
    {"nvlink_rate", "2400Gbps",
     "NVIDIA, A100 data sheet: NVLink 3, 600 GB/s in both directions together (12 links of 25 GB/s each way)"},
    {"nvlink_delay", "25ns", nvlink_delay_origin},
    {"pcie_rate", "256Gbps", pcie_4_origin},
    {"pcie_delay", "100ns", pcie_delay_origin},
    {"nic_rate", "200Gbps", "ConnectX-6: HDR InfiniBand"},
}};

constexpr std::array<NamedValue, 8> hgx_b200 = {{
    {"gpus_per_host", "8", "NVIDIA, DGX B200 data sheet: 8 GPUs"},
    {"nics_per_host", "8", "the same: a ConnectX-7 per GPU; storage has NICs of its own"},
    {"inside", "nvswitch", "the same: 2 NVSwitches, to which the links of every GPU are dealt"},
    {"nvlink_rate", "7200Gbps", "the same: NVLink 5, 1,800 GB/s in both directions together (18 links of 50 GB/s each way)"},
    {"nvlink_delay", "25ns", nvlink_delay_origin},
    {"pcie_rate", "512Gbps", pcie_5_origin},
    {"pcie_delay", "100ns", pcie_delay_origin},
    {"nic_rate", "400Gbps", "ConnectX-7: NDR InfiniBand or 400G Ethernet"},
}};

constexpr std::array<NamedValue, 8> gb200_nvl72 = {{
    {"gpus_per_host", "72", "NVIDIA, GB200 NVL72 data sheet: 72 GPUs in one NVLink domain, which is one host here"},
    {"nics_per_host", "72", "the same: a ConnectX-7 per GPU"},
    {"inside", "nvswitch", "the same: 9 switch trays, to which the links of every GPU are dealt"},
    {"nvlink_rate", "7200Gbps", "the same: NVLink 5, 1,800 GB/s per GPU in both directions together"},
    {"nvlink_delay", "25ns", nvlink_delay_origin},
    {"pcie_rate", "512Gbps", pcie_5_origin},
    {"pcie_delay", "100ns", pcie_delay_origin},
    {"nic_rate", "400Gbps", "ConnectX-7: NDR InfiniBand or 400G Ethernet"},
}};

constexpr std::array<NamedValue, 8> gb300_nvl72 = {{
    {"gpus_per_host", "72", "NVIDIA, GB300 NVL72 data sheet: 72 GPUs in one NVLink domain, which is one host here"},
    {"nics_per_host", "72", "the same: a ConnectX-8 per GPU"},
    {"inside", "nvswitch", "the same: 9 switch trays, to which the links of every GPU are dealt"},
    {"nvlink_rate", "7200Gbps", "the same: NVLink 5, 1,800 GB/s per GPU in both directions together"},
    {"nvlink_delay", "25ns", nvlink_delay_origin},
    {"pcie_rate", "1024Gbps", "PCIe 6.0 x16: 64 GT/s on 16 lanes"},
    {"pcie_delay", "100ns", pcie_delay_origin},
    {"nic_rate", "800Gbps", "ConnectX-8: XDR InfiniBand or 800G Ethernet"},
}};

constexpr std::array<NamedValue, 8> gh200 = {{
    {"gpus_per_host", "1", "NVIDIA, GH200 data sheet: a Grace CPU and a Hopper GPU; TACC, Vista: one of them per node"},
    {"nics_per_host", "1", "TACC, Vista: one NDR port per node"},
    {"inside", "full_mesh", "nodes with four superchips join every two GPUs by 6 of their 18 links; a lone GPU needs none"},
    {"nvlink_rate", "3600Gbps",
     "NVIDIA, GH200 data sheet: NVLink 4, 900 GB/s in both directions together; NVLink-C2C to the CPU has as much"},
    {"nvlink_delay", "25ns", nvlink_delay_origin},
    {"pcie_rate", "512Gbps", "the NIC is at the CPU, behind PCIe 5.0 x16 (32 GT/s on 16 lanes) and the faster NVLink-C2C"},
    {"pcie_delay", "100ns", "assumption: the CPU's root port in place of a PCIe switch"},
    {"nic_rate", "400Gbps", "TACC, Vista: NDR InfiniBand, 400 Gb/s per node"},
}};

constexpr std::array<NamedValue, 8> mi300x = {{
    {"gpus_per_host", "8", "AMD, Instinct MI300X platform data sheet: 8 GPUs"},
    {"nics_per_host", "8", "the platform has a PCIe 5.0 x16 slot for a NIC at every GPU"},
    {"inside", "full_mesh", "the same data sheet: 7 Infinity Fabric links per GPU, one to every other"},
    {"nvlink_rate", "3584Gbps", "the same: 7 links of 64 GB/s each way (128 GB/s in both directions together)"},
    {"nvlink_delay", "25ns", "assumption: as an NVLink cable"},
    {"pcie_rate", "512Gbps", pcie_5_origin},
    {"pcie_delay", "100ns", pcie_delay_origin},
    {"nic_rate", "400Gbps", "assumption: NICs of 400 Gb/s, the fastest that PCIe 5.0 x16 keeps busy"},
}};

constexpr std::array<NamedValue, 8> mi355x_8 = {{
    {"gpus_per_host", "8", "AMD, Instinct MI355X platform data sheet: 8 GPUs"},
    {"nics_per_host", "8", "the platform has a PCIe 5.0 x16 slot for a NIC at every GPU"},
    {"inside", "full_mesh", "the same data sheet: 7 Infinity Fabric links per GPU, one to every other"},
    {"nvlink_rate", "4300.8Gbps", "the same: 7 links of 76.8 GB/s each way (153.6 GB/s in both directions together)"},
    {"nvlink_delay", "25ns", "assumption: as an NVLink cable"},
    {"pcie_rate", "512Gbps", pcie_5_origin},
    {"pcie_delay", "100ns", pcie_delay_origin},
    {"nic_rate", "400Gbps", "AMD, Pensando Pollara 400: 400 Gb/s"},
}};

constexpr std::array<ModuleInfo, 9> presets = {{
    {"server", "hgx_h100", "DGX or HGX H100: 8 GPUs around NVSwitches, a 400 Gb/s NIC for each.", {}, hgx_h100},
    {"server", "hgx_h200", "DGX or HGX H200: 8 GPUs around NVSwitches, a 400 Gb/s NIC for each.", {}, hgx_h200},
    {"server", "hgx_a100", "DGX or HGX A100: 8 GPUs around NVSwitches, a 200 Gb/s NIC for each.", {}, hgx_a100},
    {"server", "hgx_b200", "DGX or HGX B200: 8 GPUs around NVSwitches, a 400 Gb/s NIC for each.", {}, hgx_b200},
    {"server", "gb200_nvl72", "GB200 NVL72: 72 GPUs in one NVLink domain, a 400 Gb/s NIC for each.", {}, gb200_nvl72},
    {"server", "gb300_nvl72", "GB300 NVL72: 72 GPUs in one NVLink domain, an 800 Gb/s NIC for each.", {}, gb300_nvl72},
    {"server", "gh200", "A node with one GH200: one GPU at its CPU, one 400 Gb/s NIC.", {}, gh200},
    {"server", "mi300x", "A platform of 8 MI300X: every two GPUs joined by Infinity Fabric, a 400 Gb/s NIC for each.", {}, mi300x},
    {"server",
     "mi355x_8",
     "A platform of 8 MI355X: every two GPUs joined by Infinity Fabric, a 400 Gb/s NIC for each.",
     {},
     mi355x_8},
}};

/// The number as this builder's parameter means it.
std::string value_for(const ParamSet& params, const NamedValue& given) {
  if (given.name != "nic_rate" || !params.has("tors")) return std::string(given.value);
  return fmt::format("{}bps", parse_bandwidth(given.value).value->in_bps() / params.integer("tors"));
}

}  // namespace

std::span<const ModuleInfo> server_presets() { return presets; }

ParamSet with_named_server(ParamSet params, const SourcePlace& place) {
  if (!params.has("server") || params.text("server") == "custom") return params;
  const std::string name = params.text("server");
  const auto preset = std::find_if(presets.begin(), presets.end(), [&](const ModuleInfo& info) { return info.name == name; });
  WEFT_CHECK(preset != presets.end(), "every choice of the parameter server is a machine");
  for (const NamedValue& given : preset->values) {
    if (!params.has(given.name) || params.is_given(given.name)) continue;
    try {
      params.set(given.name, value_for(params, given), place);
    } catch (const InputError& error) {
      Diagnostic diagnostic = error.diagnostics().front();
      diagnostic.message += fmt::format(", which server = {} says", name);
      throw InputError(std::move(diagnostic));
    }
  }
  return params;
}

}  // namespace weft
