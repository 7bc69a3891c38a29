// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/simai.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "topologies/formats/numbered_rows.hpp"

namespace weft {

namespace {

constexpr std::string_view header_layout = "nodes gpus_per_server nvswitches switches links gpu_type";

struct Counts {
  std::uint32_t nodes = 0;
  std::uint32_t gpus_per_server = 0;
  std::uint32_t nvswitches = 0;
  std::uint32_t switches = 0;
  std::uint32_t links = 0;
  std::uint32_t gpus() const { return nodes - nvswitches - switches; }
  HostId host_of_gpu(std::uint32_t gpu) const { return HostId(gpu / gpus_per_server); }
};

Counts read_counts(NumberedRows& rows, Diagnostics& diagnostics) {
  const auto numbers = rows.counts(5, 1, header_layout);
  diagnostics.throw_if_errors();
  const Counts counts{(*numbers)[0], (*numbers)[1], (*numbers)[2], (*numbers)[3], (*numbers)[4]};
  const Row& header = rows.row(0);
  const std::uint64_t others = std::uint64_t{counts.nvswitches} + counts.switches;
  if (others > counts.nodes) {
    diagnostics.error("count-mismatch", fmt::format("of {} nodes {} cannot be switches of both kinds", counts.nodes, others),
                      rows.place(header, header.fields[0]), fmt::format("the first line reads \"{}\"", header_layout));
  } else if (counts.gpus_per_server == 0 || counts.gpus() % counts.gpus_per_server != 0) {
    diagnostics.error("count-mismatch",
                      fmt::format("{} GPUs cannot be dealt to servers of {}", counts.gpus(), counts.gpus_per_server),
                      rows.place(header, header.fields[1]), "GPUs are the nodes that are neither NVSwitch nor switch");
  }
  diagnostics.throw_if_errors();
  return counts;
}

enum class Role : std::uint8_t { gpu, nvswitch, packet_switch };

/// Finds the host of every NVSwitch by the GPUs it joins, or says what is wrong.
std::vector<HostId> place_nvswitches(const Counts& counts, const std::vector<Role>& roles, const std::vector<NumberedCable>& cables,
                                     const SourceText& source, Diagnostics& diagnostics) {
  std::vector<HostId> hosts(counts.nodes, HostId::none());
  for (const NumberedCable& cable : cables) {
    for (const auto& [nvswitch, other] : {std::pair(cable.a, cable.b), std::pair(cable.b, cable.a)}) {
      if (roles[nvswitch] != Role::nvswitch) continue;
      if (roles[other] == Role::packet_switch) {
        diagnostics.error("nvswitch-leaves-host", fmt::format("NVSwitch {} is joined to switch {}", nvswitch, other),
                          source.at(cable.line), "an NVSwitch joins the GPUs of one server only");
      } else if (roles[other] == Role::gpu) {
        const HostId host = counts.host_of_gpu(other);
        if (!hosts[nvswitch].is_none() && hosts[nvswitch] != host) {
          diagnostics.error(
              "nvswitch-spans-hosts",
              fmt::format("NVSwitch {} joins GPUs of servers {} and {}", nvswitch, hosts[nvswitch].index(), host.index()),
              source.at(cable.line), fmt::format("the header says {} GPUs per server; is that right?", counts.gpus_per_server));
        }
        hosts[nvswitch] = host;
      }
    }
  }
  for (std::uint32_t id = 0; id < counts.nodes; ++id) {
    if (roles[id] == Role::nvswitch && hosts[id].is_none()) {
      diagnostics.error("nvswitch-without-gpus", fmt::format("NVSwitch {} is joined to no GPU", id), source.whole_file(),
                        "drop it from the list of ids and lower the header's count, or give it links");
    }
  }
  return hosts;
}

}  // namespace

std::shared_ptr<const Topology> import_simai(const SourceText& source) {
  Diagnostics diagnostics;
  NumberedRows rows(source, diagnostics);
  const Counts counts = read_counts(rows, diagnostics);
  const std::vector<std::uint32_t> ids =
      rows.ids(counts.nvswitches + counts.switches, counts.nodes, "NVSwitch and switch",
               [&](std::uint32_t id) -> std::optional<std::string> {
                 if (id >= counts.gpus()) return std::nullopt;
                 return fmt::format("GPUs are nodes 0 to {}, NVSwitches and switches come after them", counts.gpus() - 1);
               });
  std::vector<Role> roles(counts.nodes, Role::gpu);
  for (std::size_t i = 0; i < ids.size(); ++i) roles[ids[i]] = i < counts.nvswitches ? Role::nvswitch : Role::packet_switch;
  const std::vector<NumberedCable> cables =
      rows.cables(counts.nvswitches + counts.switches == 0 ? 1 : 2, counts.links, counts.nodes);
  diagnostics.throw_if_errors();
  const std::vector<HostId> nvswitch_hosts = place_nvswitches(counts, roles, cables, source, diagnostics);
  diagnostics.throw_if_errors();

  TopologyBuilder builder(std::filesystem::path(source.name()).filename().string());
  for (std::uint32_t host = 0; host < counts.gpus() / counts.gpus_per_server; ++host) builder.add_host();
  for (std::uint32_t id = 0; id < counts.nodes; ++id) {
    switch (roles[id]) {
      case Role::gpu:
        builder.add_endpoint(counts.host_of_gpu(id), NodeKind::gpu, fmt::to_string(id));
        break;
      case Role::nvswitch:
        builder.add_inside(nvswitch_hosts[id], NodeKind::nvswitch, fmt::to_string(id));
        break;
      case Role::packet_switch:
        builder.add_switch(0, fmt::to_string(id));
        break;
    }
  }
  // Two NVSwitches may only be joined inside one server.
  for (const NumberedCable& cable : cables) {
    const bool both = roles[cable.a] == Role::nvswitch && roles[cable.b] == Role::nvswitch;
    if (both && nvswitch_hosts[cable.a] != nvswitch_hosts[cable.b]) {
      diagnostics.error("nvswitch-leaves-host", fmt::format("NVSwitches {} and {} belong to different servers", cable.a, cable.b),
                        source.at(cable.line), "an NVSwitch joins the GPUs of one server only");
      continue;
    }
    builder.add_cable(NodeId(cable.a), NodeId(cable.b), cable.rate, cable.delay);
  }
  diagnostics.throw_if_errors();
  return std::move(builder).build(nullptr, source.whole_file());
}

}  // namespace weft
