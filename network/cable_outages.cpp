#include "network/cable_outages.hpp"

#include <algorithm>

#include "topologies/topology.hpp"

namespace weft {

void CableOutages::change(const CableChanges& change, Time now) {
  if (is_out_.empty()) is_out_ = avoided_ = std::vector<bool>(topology_.link_count(), false);
  const bool is_out = change.share() == 0;
  const LinkId reverse = topology_.reverse(change.cable());
  if (is_out_[change.cable().index()] == is_out) return;
  is_out_[change.cable().index()] = is_out_[reverse.index()] = is_out;
  const LinkId cable = std::min(change.cable(), reverse);
  turned_[cable] = now;
  if (reroute_ < Time::max() - now) way_changes_.push_back({now + reroute_, cable});
}

bool CableOutages::take(Time now) {
  bool has_changed = false;
  for (; !way_changes_.empty() && way_changes_.front().at <= now; way_changes_.pop_front()) {
    const auto [at, cable] = way_changes_.front();
    const bool is_out = is_out_[cable.index()];
    // It has turned once more since, and its turn comes; or it was away for too short a time to be noticed.
    if (turned_.at(cable) + reroute_ != at || avoided_[cable.index()] == is_out) continue;
    avoided_[cable.index()] = avoided_[topology_.reverse(cable).index()] = is_out;
    has_changed = true;
  }
  return has_changed;
}

}  // namespace weft
