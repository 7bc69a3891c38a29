#include "network/adaptive.hpp"

#include "core/check.hpp"
#include "network/ecmp.hpp"
#include "topologies/topology.hpp"

namespace weft {

std::span<const LinkId> AdaptivePaths::path(NodeId source, NodeId destination, std::uint32_t connection, std::uint32_t queue_pair,
                                            const FlowLinkGraph& flows) {
  WEFT_CHECK(source != destination, "a path joins two endpoints");
  // a / b < c / d without dividing, so that links without capacity need no case of their own and equal loads are equal.
  const auto is_less_loaded = [&flows](LinkId a, LinkId b) {
    const auto flows_with_this = [&flows](LinkId link) { return static_cast<double>(flows.members(link).size() + 1); };
    return flows_with_this(a) * flows.capacity(b) < flows_with_this(b) * flows.capacity(a);
  };
  const EcmpHash hash(source, destination, connection, queue_pair);
  links_.clear();
  for (NodeId at = source; at != destination;) {
    topology_.routes().next_hops(topology_, at, destination, hops_);
    WEFT_CHECK(!hops_.empty(), "endpoints are mutually reachable");
    least_loaded_.clear();
    for (const LinkId hop : hops_) {
      if (!least_loaded_.empty() && is_less_loaded(least_loaded_.front(), hop)) continue;
      if (!least_loaded_.empty() && is_less_loaded(hop, least_loaded_.front())) least_loaded_.clear();
      least_loaded_.push_back(hop);
    }
    links_.push_back(least_loaded_[hash.choice(seed_, at, least_loaded_.size())]);
    at = topology_.link(links_.back()).destination;
    WEFT_CHECK(links_.size() <= topology_.node_count(), "a shortest path visits no node twice");
  }
  return links_;
}

}  // namespace weft
