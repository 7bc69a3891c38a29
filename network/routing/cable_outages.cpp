// SPDX-License-Identifier: Apache-2.0
#include "network/routing/cable_outages.hpp"

#include <algorithm>

#include "topologies/topology.hpp"

namespace weft {

void CableOutages::change(const CableChanges& change, Time now) {
  if (shares_.empty()) {
    shares_now_ = shares_ = std::vector<double>(topology_.link_count(), 1);
    avoided_.assign(topology_.link_count(), false);
  }
  const double share = follows_shares_ || change.share() == 0 ? change.share() : 1;
  const LinkId reverse = topology_.reverse(change.cable());
  if (shares_now_[change.cable().index()] == share) return;
  shares_now_[change.cable().index()] = shares_now_[reverse.index()] = share;
  const LinkId cable = std::min(change.cable(), reverse);
  turned_[cable] = now;
  if (reroute_ < Time::max() - now) route_changes_.push_back({now + reroute_, cable});
}

bool CableOutages::take(Time now) {
  bool has_changed = false;
  for (; !route_changes_.empty() && route_changes_.front().at <= now; route_changes_.pop_front()) {
    const auto [at, cable] = route_changes_.front();
    const LinkId reverse = topology_.reverse(cable);
    const double share = shares_now_[cable.index()];
    // It has turned once more since, and its turn comes; or it was away for too short a time to be
    // noticed.
    if (turned_.at(cable) + reroute_ != at || shares_[cable.index()] == share) continue;
    shares_[cable.index()] = shares_[reverse.index()] = share;
    avoided_[cable.index()] = avoided_[reverse.index()] = share == 0;
    has_changed = true;
  }
  return has_changed;
}

}  // namespace weft
