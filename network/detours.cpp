#include "network/detours.hpp"

#include <algorithm>

#include "topologies/searched_routes.hpp"

namespace weft {

void Detours::avoid(const std::vector<bool>& avoided) {
  around_ = nullptr;
  if (std::find(avoided.begin(), avoided.end(), true) != avoided.end()) around_ = searched_routes(topology_, 0, avoided);
}

const Routes& Detours::between(NodeId source, NodeId destination) {
  if (around_ == nullptr) return topology_.routes();
  around_->next_hops(topology_, source, destination, hops_);
  return hops_.empty() ? topology_.routes() : *around_;
}

}  // namespace weft
