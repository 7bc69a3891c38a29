// SPDX-License-Identifier: Apache-2.0
// Part names: finds a part of the cluster or its network by the name that a user gives it.
//
// Where it sits: failure logs and a scenario's events name parts; this reads the names and helps
// where there is no such part.
// Thread safety: one thread per object.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "scheduler/failures/network_parts.hpp"
#include "scheduler/failures/part.hpp"

namespace weft {

class PartNames {
 public:
  /// Keeps references. `network` may be null: no switches and links.
  PartNames(const ClusterState& cluster, const NetworkParts* network) : cluster_(cluster), network_(network) {}

  std::optional<Part> find(std::string_view name);
  /// For the user who gave a name that find() does not know.
  std::string help(std::string_view name) const;
  /// As the user writes it; of a cable, its first direction.
  std::string text(const Part& part) const { return is_of_network(part.kind) ? network_->name(part) : to_text(part, cluster_); }

 private:
  const ClusterState& cluster_;
  const NetworkParts* network_;
  std::map<std::string, Part, std::less<>> of_network_;  ///< once it was asked for
};

}  // namespace weft
