// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/server.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "topologies/builders/builder_error.hpp"
#include "topologies/builders/server_presets.hpp"

namespace weft {

// Cables between GPUs by `inside`
//   nvswitch          one cable per GPU (nvlink_rate each way); one NVSwitch stands for the whole
//                     NVLink domain
//   full_mesh         a cable between every two GPUs, nvlink_rate / (G-1) each way
//   hybrid_cube_mesh  8 GPUs as in a DGX-1 with V100: six NVLinks per GPU of nvlink_rate / 6 each.
//                     Eight pairs have two links, which close a ring of all GPUs; eight pairs have
//                     one. The two links of a pair are one cable of twice the rate, as NVLink
//                     stripes over them
//   pcie              no NVLink
// Pairs of GPUs without NVLink meet at the host's PCIe switch, one cable of pcie_rate per GPU. GPUs
// do not relay for others (no path passes through an endpoint), nor does CUDA when a GPU writes to
// another. A library that relays, as NCCL's rings do, says so by its order of ranks. GPUs of
// hybrid_cube_mesh are numbered along the ring of double links (0 3 2 1 5 6 7 4 of nvidia-smi; both
// halves keep their GPUs), so that neighbours in rank order are neighbours by NVLink.
// Routes with nic_affinity = any are searched, since any NIC leads to a GPU.

namespace {

constexpr std::uint32_t cube_mesh_gpus = 8;

/// The pairs with one link, GPUs numbered along the ring of pairs with two.
bool single_in_cube_mesh(std::uint32_t a, std::uint32_t b) {
  constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 8> singles = {
      {{0, 2}, {0, 3}, {1, 3}, {1, 6}, {2, 5}, {4, 6}, {4, 7}, {5, 7}}};
  return std::find(singles.begin(), singles.end(), std::pair(std::min(a, b), std::max(a, b))) != singles.end();
}

}  // namespace

std::uint32_t ServerShape::mesh_width(std::uint32_t a, std::uint32_t b) const {
  if (a == b || gpus == 1) return 0;
  if (inside == Inside::full_mesh) return 1;
  if (inside != Inside::hybrid_cube_mesh) return 0;
  const std::uint32_t apart = (a > b ? a - b : b - a);
  if (apart == 1 || apart == cube_mesh_gpus - 1) return 2;
  return single_in_cube_mesh(a, b) ? 1 : 0;
}

std::uint32_t ServerShape::cable_count() const {
  if (gpus == 1) return relays ? 1 : 0;
  const std::uint32_t mesh = inside == Inside::full_mesh ? gpus * (gpus - 1) / 2 : inside == Inside::hybrid_cube_mesh ? 16 : 0;
  return mesh + (has_hub() ? gpus : 0) + (adds_pcie_switch() ? gpus : 0) + (any_nic ? nics : has_nics() ? gpus : 0);
}

ServerShape read_server(const ParamSet& given, const SourcePlace& place) {
  const ParamSet params = with_named_server(given, place);
  auto shape = filled<ServerShape>(params);
  if (shape.gpus % shape.nics != 0) {
    fail_builder(params.module(), "uneven-nics", fmt::format("{} GPUs cannot share {} NICs evenly", shape.gpus, shape.nics), place,
                 "let gpus_per_host be a multiple of nics_per_host");
  }
  if (!shape.nics_are_nodes && shape.nics != shape.gpus) {
    fail_builder(params.module(), "uneven-nics",
                 fmt::format("with nic_model = port each GPU has a port of its own, but {} GPUs have {}", shape.gpus,
                             counted(shape.nics, "NIC", "NICs")),
                 place, "let nics_per_host equal gpus_per_host, or use nic_model = node");
  }
  if (shape.any_nic && !shape.nics_are_nodes) {
    fail_builder(params.module(), "bad-affinity", "with nic_model = port a GPU's NIC is part of it, and no other GPU can use it",
                 place, "set nic_affinity to own, or nic_model to node");
  }
  shape.any_nic = shape.any_nic && shape.nics > 1;
  if (shape.inside == Inside::hybrid_cube_mesh && shape.gpus != cube_mesh_gpus) {
    fail_builder(params.module(), "bad-inside", fmt::format("a hybrid cube mesh joins 8 GPUs, not {}", shape.gpus), place,
                 "set gpus_per_host to 8, or inside to full_mesh or nvswitch");
  }
  const bool mesh = shape.gpus > 1 && (shape.inside == Inside::full_mesh || shape.inside == Inside::hybrid_cube_mesh);
  if (mesh && shape.nvlink_rate.in_bps() < shape.mesh_shares()) {
    fail_builder(params.module(), "bad-inside", "nvlink_rate is too low to be shared by a GPU's links", place,
                 "nvlink_rate is the rate of all links of a GPU together; give at least 1 bps for each");
  }
  return shape;
}

NodeId add_server(TopologyBuilder& builder, const ServerShape& shape) {
  const HostId host = builder.add_host();
  builder.set_machine(shape.machine);
  const NodeId first = builder.add_endpoint(host, NodeKind::gpu);
  const auto node = [first](std::uint32_t offset) { return NodeId(first.index() + offset); };
  for (std::uint32_t gpu = 1; gpu < shape.gpus; ++gpu) builder.add_endpoint(host, NodeKind::gpu);
  for (std::uint32_t nic = 0; shape.has_nics() && nic < shape.nics; ++nic) builder.add_inside(host, NodeKind::nic);
  const bool nvswitch = shape.inside == Inside::nvswitch;
  if (shape.has_hub()) builder.add_inside(host, nvswitch ? NodeKind::nvswitch : NodeKind::pcie_switch);
  if (shape.adds_pcie_switch()) builder.add_inside(host, NodeKind::pcie_switch);

  for (std::uint32_t a = 0; a < shape.gpus; ++a) {
    for (std::uint32_t b = a + 1; b < shape.gpus; ++b) {
      const std::uint32_t width = shape.mesh_width(a, b);
      if (width == 0) continue;
      const Bandwidth share = Bandwidth::bps(shape.nvlink_rate.in_bps() / shape.mesh_shares() * width);
      builder.add_cable(node(a), node(b), share, shape.nvlink_delay);
    }
  }
  for (std::uint32_t gpu = 0; gpu < shape.gpus; ++gpu) {
    if (shape.has_hub()) {
      builder.add_cable(node(gpu), node(shape.hub_offset()), nvswitch ? shape.nvlink_rate : shape.pcie_rate,
                        nvswitch ? shape.nvlink_delay : shape.pcie_delay);
    }
    if (shape.adds_pcie_switch()) {
      builder.add_cable(node(gpu), node(shape.pcie_switch_offset()), shape.pcie_rate, shape.pcie_delay);
    }
    if (shape.has_nics() && !shape.any_nic) {
      builder.add_cable(node(gpu), node(shape.port_offset(gpu / shape.gpus_per_nic())), shape.pcie_rate, shape.pcie_delay);
    }
  }
  // The delay is the switch's: a GPU is as far from every NIC as it were from its own.
  for (std::uint32_t nic = 0; shape.any_nic && nic < shape.nics; ++nic) {
    builder.add_cable(node(shape.port_offset(nic)), node(shape.pcie_switch_offset()), shape.pcie_rate, Duration::zero());
  }
  return first;
}

void server_next_hops(const ServerShape& shape, std::span<const LinkId> ports, std::uint32_t offset, bool same_host,
                      std::uint32_t gpu, std::vector<LinkId>& out) {
  out.clear();
  const auto take_last = [&](std::size_t skipped) {
    out.assign(ports.begin() + static_cast<std::ptrdiff_t>(skipped), ports.end());
  };
  if (offset < shape.gpus) {
    if (!same_host) return take_last(ports.size() - (shape.has_nics() ? 1 : shape.nic_ports));
    std::size_t neighbours = 0;
    std::size_t before = 0;
    for (std::uint32_t peer = 0; peer < shape.gpus; ++peer) {
      if (shape.mesh_width(offset, peer) == 0) continue;
      ++neighbours;
      if (peer < gpu) ++before;
    }
    out.push_back(shape.mesh_width(offset, gpu) > 0 ? ports[before] : ports[neighbours]);
  } else if (shape.has_hub() && offset == shape.hub_offset()) {
    if (same_host) out.push_back(ports[gpu]);
  } else {
    const bool mine = same_host && gpu / shape.gpus_per_nic() == offset - shape.gpus;
    if (mine) return out.push_back(ports[gpu % shape.gpus_per_nic()]);
    take_last(shape.gpus_per_nic());
  }
}

}  // namespace weft
