#include "topologies/builders/server.hpp"

namespace weft {

ServerShape read_server(const ParamSet& params, std::uint32_t gpus, std::uint32_t nics, const SourcePlace& place) {
  if (gpus % nics != 0) {
    throw InputError({Severity::error, "uneven-nics",
                      params.module() + ": " + std::to_string(gpus) + " GPUs cannot share " + std::to_string(nics) + " NICs evenly",
                      place, "let gpus_per_host be a multiple of nics_per_host"});
  }
  return {gpus,
          nics,
          params.bandwidth("nvlink_rate"),
          params.duration("nvlink_delay"),
          params.bandwidth("pcie_rate"),
          params.duration("pcie_delay"),
          params.bandwidth("nic_rate")};
}

NodeId add_server(TopologyBuilder& builder, const ServerShape& shape) {
  const HostId host = builder.add_host();
  const NodeId first = builder.add_endpoint(host, NodeKind::gpu);
  if (shape.bare()) return first;
  const auto node = [first](std::uint32_t offset) { return NodeId(first.index() + offset); };
  for (std::uint32_t gpu = 1; gpu < shape.gpus; ++gpu) builder.add_endpoint(host, NodeKind::gpu);
  for (std::uint32_t nic = 0; nic < shape.nics; ++nic) builder.add_inside(host, NodeKind::nic);
  builder.add_inside(host, NodeKind::nvswitch);
  for (std::uint32_t gpu = 0; gpu < shape.gpus; ++gpu) {
    builder.add_cable(node(gpu), node(shape.nvswitch_offset()), shape.nvlink_rate, shape.nvlink_delay);
    builder.add_cable(node(gpu), node(shape.port_offset(gpu / shape.gpus_per_nic())), shape.pcie_rate, shape.pcie_delay);
  }
  return first;
}

}  // namespace weft
