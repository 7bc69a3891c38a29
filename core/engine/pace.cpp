// SPDX-License-Identifier: Apache-2.0
#include "core/engine/pace.hpp"

#include <algorithm>

namespace weft {

Pace::Mode Pace::look(std::uint64_t wall_ns, std::uint64_t events) {
  const std::uint64_t elapsed_ns = wall_ns - since_wall_ns_;
  if (elapsed_ns < (trying() ? trial_ns : hold_ns_)) return mode_;
  const double pace = static_cast<double>(std::max(events, since_events_) - since_events_) / static_cast<double>(elapsed_ns);
  if (trying()) longest_ns_ = std::max(longest_ns_, elapsed_ns);
  switch (step_) {
    case Step::warm_up:
    case Step::hold:
      step_ = Step::before;
      break;
    case Step::before:
      pace_before_ = pace;
      if (!compared_ && elapsed_ns >= long_trial_ns) {
        compared_ = true;
        hold_ns_ = trials_apart * elapsed_ns;
        step_ = Step::hold;
        break;
      }
      mode_ = other();
      step_ = Step::other;
      break;
    case Step::other:
      pace_of_other_ = pace;
      ++tries_;
      mode_ = other();
      step_ = Step::after;
      break;
    case Step::after: {
      const auto [lesser, greater] = std::minmax(pace_before_, pace);
      if (lesser < pace_of_other_ && pace_of_other_ < greater && tries_ < tries_max) {
        pace_before_ = pace;
        mode_ = other();
        step_ = Step::other;
        break;
      }
      tries_ = 0;
      const bool other_is_better = pace_of_other_ > (lesser + greater) / 2;
      if (other_is_better) mode_ = other();
      compared_ = true;
      hold_ns_ = other_is_better ? hold_ns_min : std::min(hold_growth * hold_ns_, hold_ns_max);
      if (longest_ns_ >= long_trial_ns) hold_ns_ = std::max(hold_ns_, trials_apart * longest_ns_);
      longest_ns_ = 0;
      step_ = Step::hold;
      break;
    }
  }
  since_wall_ns_ = wall_ns;
  since_events_ = events;
  return mode_;
}

}  // namespace weft
