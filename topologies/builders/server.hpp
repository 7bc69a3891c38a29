// SPDX-License-Identifier: Apache-2.0
// Server: what builders put inside a host.
//
// Where it sits: builders describe their hosts by ServerShapes read from the parameters below and
// place them with add_server(). Their Routes ask server_next_hops() for the part of a path inside a
// host. server.cpp states the cables of each kind of inside.
//
// Model: GPUs g0..gG-1, N NICs, G divisible by N; NIC j serves GPUs j*G/N .. (j+1)*G/N - 1.
// `inside` says what joins the GPUs. Each GPU has one cable to its NIC (pcie_rate each way,
// pcie_delay); its way to the PCIe switch is a cable of its own. The builder adds nic_ports cables
// per NIC.
//   nic_affinity = any  GPUs are tied to no NIC: all GPUs and all NICs meet at a PCIe switch. What
//                       a GPU sends is spread over the NICs by the routing of flows
//   nic_model = port    the ports are the GPU's own and the NIC is no node
//   relays              a host with one GPU has its NIC, too, and passes foreign traffic on (bcube)
// A host with one GPU is just that GPU, unless it relays: closed forms stay simple.
// `server` names a machine (server_presets.hpp), whose numbers stand for parameters not given.
//
// Numbering, without gaps: GPUs, NICs, NVSwitch or PCIe switch, then the PCIe switch that
// nic_affinity = any adds. Links of a GPU: to other GPUs in their order, to the switch inside, to
// the NIC or the fabric. Links of a NIC: to its GPUs, then to the fabric.
// Not modelled: traffic of several NVLink rings at once (a ring over a full mesh uses one of a
// GPU's cables each way), and the sharing of a GPU's PCIe slot between its NIC and other GPUs.
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/text/param_rows.hpp"
#include "core/text/params.hpp"
#include "topologies/topology.hpp"

namespace weft {

/// In the order of the choices of `inside`.
enum class Inside : std::uint8_t { nvswitch, full_mesh, hybrid_cube_mesh, pcie };

/// Filled by the parameters of a server; members that a builder's table does not name stay as they
/// are here.
struct ServerShape {
  std::uint32_t gpus = 1;
  std::uint32_t nics = 1;       ///< 1 when gpus == 1
  std::uint32_t nic_ports = 1;  ///< cables of a NIC to the fabric
  Inside inside = Inside::nvswitch;
  bool nics_are_nodes = true;  ///< nic_model
  bool any_nic = false;        ///< nic_affinity = any, and there are several
  bool relays = false;
  Bandwidth nvlink_rate;
  Duration nvlink_delay;
  Bandwidth pcie_rate;
  Duration pcie_delay;
  Bandwidth nic_rate;   ///< of one port
  std::string machine;  ///< that `server` names; "" for none

  bool has_nics() const { return relays || (gpus > 1 && nics > 0 && nics_are_nodes); }
  /// An NVSwitch or a PCIe switch.
  bool has_hub() const { return gpus > 1 && inside != Inside::full_mesh; }
  std::uint32_t gpus_per_nic() const { return gpus / nics; }
  bool hub_is_pcie() const { return has_hub() && inside != Inside::nvswitch; }
  bool adds_pcie_switch() const { return any_nic && !hub_is_pcie(); }
  std::uint32_t node_count() const { return gpus + (has_nics() ? nics : 0) + (has_hub() ? 1 : 0) + (adds_pcie_switch() ? 1 : 0); }
  std::uint32_t cable_count() const;  ///< inside the host
  /// Node of the server, counted from its first, that is cabled to the fabric on behalf of NIC
  /// `nic`.
  std::uint32_t port_offset(std::uint32_t nic) const { return has_nics() ? gpus + nic : nic; }
  std::uint32_t hub_offset() const { return gpus + (has_nics() ? nics : 0); }
  /// Requires: there is a PCIe switch.
  std::uint32_t pcie_switch_offset() const { return hub_offset() + (adds_pcie_switch() && has_hub() ? 1 : 0); }
  /// NVLinks between two GPUs, in shares of nvlink_rate / mesh_shares(); 0 where there is none.
  std::uint32_t mesh_width(std::uint32_t a, std::uint32_t b) const;
  std::uint32_t mesh_shares() const { return inside == Inside::full_mesh ? gpus - 1 : 6; }
};

/// The machine that `server` names; "" for custom.
inline std::string machine_called(const std::string& text, const std::string& /*param*/) { return text == "custom" ? "" : text; }

/// What is inside a host, for builders of any kind. `gpus_per_host` and `nics_per_host` stand in
/// the builders' own tables: their defaults differ.
inline constexpr std::array inside_params = {
    param_read<machine_called, &ServerShape::machine>(
        {.name = "server",
         .default_text = "custom",
         .choices = "custom|hgx_h100|hgx_h200|hgx_a100|hgx_b200|gb200_nvl72|gb300_nvl72|gh200|mi300x|mi355x_8",
         .meaning =
             "Machine whose numbers stand for the parameters of a server that are not given; `weft modules server` lists them.",
         .origin = "no machine: the parameters' own defaults"}),
    param<&ServerShape::inside>(
        {.name = "inside",
         .default_text = "nvswitch",
         .choices = "nvswitch|full_mesh|hybrid_cube_mesh|pcie",
         .meaning =
             "What joins the GPUs of a host: an NVSwitch, a cable between every two, the 8-GPU mesh of the DGX-1, or only PCIe.",
         .origin = "DGX/HGX since A100"}),
    param<&ServerShape::nvlink_rate>({.name = "nvlink_rate",
                                      .default_text = "3600Gbps",
                                      .minimum = "1bps",
                                      .maximum = "1000Tbps",
                                      .meaning = "Rate of all NVLinks of a GPU together, each way.",
                                      .origin = "H100: 900 GB/s of NVLink in both directions together"}),
    param<&ServerShape::nvlink_delay>({.name = "nvlink_delay",
                                       .default_text = "25ns",
                                       .minimum = "0ns",
                                       .maximum = "1ms",
                                       .meaning = "Delay of a cable between a GPU and its NVSwitch or another GPU.",
                                       .origin = "SimAI's H100 topologies: 0.000025 ms"}),
    param<&ServerShape::pcie_rate>({.name = "pcie_rate",
                                    .default_text = "512Gbps",
                                    .minimum = "1bps",
                                    .maximum = "1000Tbps",
                                    .meaning = "Rate between a GPU and its NIC, and between a GPU and the PCIe switch, each way.",
                                    .origin = "PCIe 5.0 x16: 32 GT/s on 16 lanes"}),
    param<&ServerShape::pcie_delay>({.name = "pcie_delay",
                                     .default_text = "100ns",
                                     .minimum = "0ns",
                                     .maximum = "1ms",
                                     .meaning = "Delay between a GPU and its NIC or the PCIe switch.",
                                     .origin = "assumption: one PCIe switch, whose vendors state 100 to 150 ns from port to port"}),
};

/// One parameter table made of several.
template <std::size_t A, std::size_t B>
constexpr std::array<ParamSpec, A + B> join_params(const std::array<ParamSpec, A>& a, const std::array<ParamSpec, B>& b) {
  std::array<ParamSpec, A + B> joined{};
  for (std::size_t i = 0; i < A; ++i) joined[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) joined[A + i] = b[i];
  return joined;
}

inline constexpr std::array nic_rate_param = {
    param<&ServerShape::nic_rate>({.name = "nic_rate",
                                   .default_text = "400Gbps",
                                   .minimum = "1bps",
                                   .maximum = "1000Tbps",
                                   .meaning = "Rate of a NIC's cable to the fabric, each way.",
                                   .origin = "NDR InfiniBand or 400G Ethernet, as in the paper's section 8.1"}),
};
inline constexpr std::array nic_model_params = {
    param<&ServerShape::nics_are_nodes>({.name = "nic_model",
                                         .default_text = "node",
                                         .choices = "node|port",
                                         .meaning = "Whether a NIC is a node between GPU and fabric, behind pcie_rate, or just a "
                                                    "port of its GPU; port needs a NIC per GPU.",
                                         .origin = "real servers; topology files without NICs mean port",
                                         .word = "node"}),
    param<&ServerShape::any_nic>({.name = "nic_affinity",
                                  .default_text = "own",
                                  .choices = "own|any",
                                  .meaning = "Whether a GPU uses the NIC that it has, or shares with its neighbours, alone; or all "
                                             "NICs of its host, over one PCIe switch.",
                                  .origin = "NCCL takes the NIC nearest to the GPU",
                                  .word = "any"}),
};

/// Parameters of a server with a network.
inline constexpr auto server_params = join_params(join_params(nic_rate_param, inside_params), nic_model_params);

/// The server that `params` describes, by name or by its parameters; where the table has no
/// gpus_per_host or nics_per_host they are 1, where it has no nic_model or nic_rate NICs are nodes
/// without a rate. Throws InputError at `place`: [uneven-nics] when the NICs cannot be dealt evenly
/// to the GPUs, [bad-affinity] when GPUs without NICs of their own are to use them all,
/// [bad-inside] when `inside` does not fit the GPUs, and as with_named_server().
ServerShape read_server(const ParamSet& params, const SourcePlace& place);

/// Adds a host and returns its first node.
NodeId add_server(TopologyBuilder& builder, const ServerShape& shape);

/// Replaces `out` by the next hops from the node at `offset` of a server, whose links are `ports`,
/// to GPU `gpu` of the same server or of another one. To another one, or from the NIC of other
/// GPUs, all the node's cables to the fabric are taken for next hops. Requires: not any_nic.
void server_next_hops(const ServerShape& shape, std::span<const LinkId> ports, std::uint32_t offset, bool same_host,
                      std::uint32_t gpu, std::vector<LinkId>& out);

}  // namespace weft
