// Server: what every builder puts inside a host.
//
// Where it sits: builders describe their hosts by a ServerShape read from the parameters below and place them with add_server().
//
// Model
//   GPUs g0..gG-1, N NICs, G divisible by N; NIC j serves GPUs j*G/N .. (j+1)*G/N - 1.
//   gpu -- nvswitch    one cable per GPU (nvlink_rate each way, nvlink_delay); one NVSwitch stands for the whole NVLink domain
//   gpu -- nic         one cable per GPU (pcie_rate each way, pcie_delay)
//   nic -- leaf        one cable per NIC (nic_rate), added by the builder
//   A host with one GPU is just that GPU: no NVSwitch, no NIC; the GPU itself is cabled to the leaf. Closed forms stay simple.
//   Node ids of a server: its GPUs, then its NICs, then its NVSwitch, without gaps.
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>

#include "core/params.hpp"
#include "topologies/topology.hpp"

namespace weft {

struct ServerShape {
  std::uint32_t gpus = 1;
  std::uint32_t nics = 1;  ///< 1 when gpus == 1: the GPU's own port
  Bandwidth nvlink_rate;
  Duration nvlink_delay;
  Bandwidth pcie_rate;
  Duration pcie_delay;
  Bandwidth nic_rate;

  bool bare() const { return gpus == 1; }
  std::uint32_t gpus_per_nic() const { return gpus / nics; }
  std::uint32_t node_count() const { return bare() ? 1 : gpus + nics + 1; }
  std::uint32_t cable_count() const { return bare() ? 0 : 2 * gpus; }
  /// Node of the server, counted from its first, that is cabled to the leaf on behalf of NIC `nic`.
  std::uint32_t port_offset(std::uint32_t nic) const { return bare() ? 0 : gpus + nic; }
  std::uint32_t nvswitch_offset() const { return gpus + nics; }
};

/// Parameters of a server. `gpus_per_host` and `nics_per_host` stand in the builders' own tables: their defaults differ.
inline constexpr std::array<ParamSpec, 5> server_params = {{
    {"nic_rate", ParamKind::bandwidth, "400Gbps", "1bps", "1000Tbps", "", "Rate of a NIC's cable to its leaf, each way.",
     "NDR InfiniBand or 400G Ethernet, as in the paper's section 8.1"},
    {"nvlink_rate", ParamKind::bandwidth, "3600Gbps", "1bps", "1000Tbps", "", "Rate between a GPU and its NVSwitch, each way.",
     "H100: 900 GB/s of NVLink in both directions together"},
    {"nvlink_delay", ParamKind::duration, "25ns", "0ns", "1ms", "", "Delay of a cable between a GPU and its NVSwitch.",
     "SimAI's H100 topologies: 0.000025 ms"},
    {"pcie_rate", ParamKind::bandwidth, "512Gbps", "1bps", "1000Tbps", "", "Rate between a GPU and its NIC, each way.",
     "PCIe 5.0 x16: 32 GT/s on 16 lanes"},
    {"pcie_delay", ParamKind::duration, "100ns", "0ns", "1ms", "", "Delay between a GPU and its NIC.",
     "assumption: one PCIe switch, whose vendors state 100 to 150 ns from port to port"},
}};

/// The server that `params` describes. Throws InputError [uneven-nics] when the NICs cannot be dealt evenly to the GPUs.
ServerShape read_server(const ParamSet& params, std::uint32_t gpus, std::uint32_t nics, const SourcePlace& place);

/// Adds a host and returns its first node.
NodeId add_server(TopologyBuilder& builder, const ServerShape& shape);

/// One parameter table made of several.
template <std::size_t A, std::size_t B>
constexpr std::array<ParamSpec, A + B> join_params(const std::array<ParamSpec, A>& a, const std::array<ParamSpec, B>& b) {
  std::array<ParamSpec, A + B> joined{};
  for (std::size_t i = 0; i < A; ++i) joined[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) joined[A + i] = b[i];
  return joined;
}

}  // namespace weft
