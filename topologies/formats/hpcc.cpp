// SPDX-License-Identifier: Apache-2.0
#include "topologies/formats/hpcc.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "topologies/formats/numbered_rows.hpp"

namespace weft {

std::shared_ptr<const Topology> import_hpcc(const SourceText& source) {
  Diagnostics diagnostics;
  NumberedRows rows(source, diagnostics);
  const auto counts = rows.counts(3, 0, "nodes switches links");
  diagnostics.throw_if_errors();
  const std::uint32_t nodes = (*counts)[0];
  const std::uint32_t switches = (*counts)[1];
  const std::uint32_t links = (*counts)[2];
  if (switches > nodes) {
    diagnostics.error("count-mismatch", fmt::format("of {} nodes {} cannot be switches", nodes, switches),
                      rows.place(rows.row(0), rows.row(0).fields[1]), "the first line reads \"nodes switches links\"");
    diagnostics.throw_if_errors();
  }
  std::vector<bool> is_switch(nodes, false);
  for (const std::uint32_t id : rows.ids(switches, nodes, "switch", [](std::uint32_t) { return std::nullopt; }))
    is_switch[id] = true;
  const std::vector<NumberedCable> cables = rows.cables(switches > 0 ? 2 : 1, links, nodes);
  diagnostics.throw_if_errors();

  TopologyBuilder builder(std::filesystem::path(source.name()).filename().string());
  for (std::uint32_t id = 0; id < nodes; ++id) {
    if (is_switch[id]) {
      builder.add_switch(0, fmt::to_string(id));
    } else {
      builder.add_endpoint(builder.add_host(), NodeKind::host, fmt::to_string(id));
    }
  }
  for (const NumberedCable& cable : cables) builder.add_cable(NodeId(cable.a), NodeId(cable.b), cable.rate, cable.delay);
  return std::move(builder).build(nullptr, source.whole_file());
}

}  // namespace weft
