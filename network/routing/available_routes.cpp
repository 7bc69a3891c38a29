// SPDX-License-Identifier: Apache-2.0
#include "network/routing/available_routes.hpp"

#include <algorithm>

#include "topologies/searched_routes.hpp"

namespace weft {

AvailableRoutes::AvailableRoutes(const Topology& topology, PathWeights weights) : topology_(topology), weights_(weights) {
  avoid({});
}

void AvailableRoutes::avoid(const std::vector<bool>& avoided, const std::vector<double>& shares) {
  around_weights_ = nullptr;
  around_ = nullptr;
  if (std::find(avoided.begin(), avoided.end(), true) != avoided.end()) around_ = searched_routes(topology_, 0, avoided);
  if (weights_ == PathWeights::equal) return;
  own_weights_ = std::make_unique<HopWeights>(topology_, topology_.routes(), shares);
  if (around_ != nullptr) around_weights_ = std::make_unique<HopWeights>(topology_, *around_, shares);
}

WeighedRoutes AvailableRoutes::between(NodeId source, NodeId destination) const {
  if (around_ != nullptr && connects(source, destination)) return {*around_, around_weights_.get()};
  return {topology_.routes(), own_weights_.get()};
}

bool AvailableRoutes::connects(NodeId source, NodeId destination) const {
  if (around_ == nullptr) return true;
  std::vector<LinkId> hops;
  around_->next_hops(topology_, source, destination, hops);
  return !hops.empty();
}

}  // namespace weft
