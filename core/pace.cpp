#include "core/pace.hpp"

#include <algorithm>

namespace weft {

Pace::Way Pace::look(std::uint64_t wall_ns, std::uint64_t events) {
  const std::uint64_t elapsed_ns = wall_ns - since_wall_ns_;
  if (elapsed_ns < (trying_ ? kTrialNs : hold_ns_)) return way_;
  if (warming_up_) {
    warming_up_ = false;
    begin(way_, true, wall_ns, events);
    return way_;
  }
  events_per_ns(way_) = static_cast<double>(std::max(events, since_events_) - since_events_) / static_cast<double>(elapsed_ns);
  if (!both_tried_ && elapsed_ns >= kLongTrialNs) {
    both_tried_ = true;
    hold_ns_ = kTrialsApart * elapsed_ns;
    begin(way_, false, wall_ns, events);
    return way_;
  }
  if (!trying_ || !both_tried_) {
    // The other way's turn, for the first time or again.
    both_tried_ = true;
    begin(other(), true, wall_ns, events);
    return way_;
  }
  const bool better = events_per_ns(way_) > events_per_ns(other());
  hold_ns_ = std::max(better ? kHoldNsMin : std::min(2 * hold_ns_, kHoldNsMax), kTrialsApart * elapsed_ns);
  begin(better ? way_ : other(), false, wall_ns, events);
  return way_;
}

void Pace::begin(Way way, bool trying, std::uint64_t wall_ns, std::uint64_t events) {
  way_ = way;
  trying_ = trying;
  since_wall_ns_ = wall_ns;
  since_events_ = events;
}

}  // namespace weft
