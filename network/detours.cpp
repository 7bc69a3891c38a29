#include "network/detours.hpp"

#include <algorithm>

#include "topologies/searched_routes.hpp"

namespace weft {

void Detours::avoid(const std::vector<bool>& avoided) {
  around_ = nullptr;
  if (std::find(avoided.begin(), avoided.end(), true) != avoided.end()) around_ = searched_routes(topology_, 0, avoided);
}

const Routes& Detours::between(NodeId source, NodeId destination) const {
  return around_ != nullptr && connects(source, destination) ? *around_ : topology_.routes();
}

bool Detours::connects(NodeId source, NodeId destination) const {
  if (around_ == nullptr) return true;
  std::vector<LinkId> hops;
  around_->next_hops(topology_, source, destination, hops);
  return !hops.empty();
}

}  // namespace weft
