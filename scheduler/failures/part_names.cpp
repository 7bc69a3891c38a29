// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/part_names.hpp"

#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

std::optional<Part> PartNames::find(std::string_view name) {
  const std::optional<Part> part = parse_part(name, cluster_);
  if (part || network_ == nullptr) return part;
  if (of_network_.empty()) of_network_ = network_->names();
  const auto found = of_network_.find(name);
  return found == of_network_.end() ? std::nullopt : std::optional(found->second);
}

std::string PartNames::help(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& [known, part] : of_network_) names.push_back(known);
  for (std::uint32_t host = 0; host < cluster_.host_count(); ++host) names.push_back(fmt::format("host{}", host));
  const std::string best = network_ == nullptr ? std::string() : closest(name, names);
  if (!best.empty()) return fmt::format("did you mean \"{}\"?", best);
  const std::string hosts = fmt::format(
      "parts are host0 to host{}, and of each its GPUs, like host0/gpu0, and NICs, like host0/nic0", cluster_.host_count() - 1);
  if (network_ == nullptr) return fmt::format("{}; there is no topology, so there are no switches and links", hosts);
  return fmt::format("{}; and the topology's switches and cables outside hosts, like leaf0 and leaf0->spine0", hosts);
}

}  // namespace weft
