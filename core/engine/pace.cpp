// SPDX-License-Identifier: Apache-2.0
#include "core/engine/pace.hpp"

#include <algorithm>

namespace weft {

/// What windows on all threads gain, if they were measured for long enough by now.
Pace::Gain Pace::gain_of_all(std::uint64_t wall_ns, const Overlap& overlap) {
  // Between comparisons for longer, so that a moment in which the machine was busy does not count.
  const std::uint64_t span_ns = trying() ? trial_ns : hold_ns_min;
  if (mode_ == Mode::one_thread || wall_ns < overlap_since_wall_ns_ + span_ns) return Gain::undecided;
  const std::uint64_t measured_ns = overlap.wall_ns - since_overlap_.wall_ns;
  const std::uint64_t busy_ns = overlap.busy_ns - since_overlap_.busy_ns;
  const bool is_known = 2 * measured_ns >= wall_ns - overlap_since_wall_ns_;
  overlap_since_wall_ns_ = wall_ns;
  since_overlap_ = overlap;
  if (!is_known) return Gain::undecided;
  const double gain = static_cast<double>(busy_ns) / static_cast<double>(measured_ns);
  if (gain < gain_min) return Gain::too_little;
  return gain < gain_enough_ ? Gain::undecided : Gain::enough;
}

void Pace::pause(std::uint64_t ns) {
  pause_ns_ = ns;
  since_wall_ns_ += ns;
  overlap_since_wall_ns_ += ns;
  longest_ns_ = std::max(longest_ns_, ns);
}

/// The comparison is over; `confirmed` says that the choice is what it was.
void Pace::keep(bool confirmed) {
  tries_ = 0;
  compared_ = true;
  hold_ns_ = confirmed ? std::min(hold_growth * hold_ns_, hold_ns_max) : hold_ns_min;
  if (longest_ns_ >= long_trial_ns) hold_ns_ = std::max(hold_ns_, trials_apart * longest_ns_);
  longest_ns_ = 0;
  step_ = Step::hold;
}

Pace::Mode Pace::look(std::uint64_t wall_ns, std::uint64_t events, const Overlap& overlap) {
  const std::uint64_t elapsed_ns = wall_ns - std::min(wall_ns, since_wall_ns_);
  const Gain gain = gain_of_all(wall_ns, overlap);
  const bool all_go_on = gain == Gain::enough && !compared_;
  const bool one_goes_on = gain == Gain::too_little;
  const std::uint64_t due_ns = trying() ? trial_ns + 2 * pause_ns_ : hold_ns_;
  if (!all_go_on && !one_goes_on && elapsed_ns < due_ns) return mode_;
  if (trying()) longest_ns_ = std::max(longest_ns_, elapsed_ns);
  const Mode before = mode_;
  if (one_goes_on) {
    // If this was a trial of all threads, it confirms the choice before it.
    const bool confirmed = step_ == Step::other;
    mode_ = Mode::one_thread;
    keep(confirmed);
  } else if (all_go_on) {
    mode_ = Mode::all_threads;
    keep(true);
    hold_ns_ = std::max(hold_ns_, hold_ns_first);
  } else {
    step(elapsed_ns, static_cast<double>(std::max(events, since_events_) - since_events_) / static_cast<double>(elapsed_ns));
  }
  since_wall_ns_ = wall_ns;
  since_events_ = events;
  if (mode_ != before) {
    pause_ns_ = 0;
    overlap_since_wall_ns_ = wall_ns;
    since_overlap_ = overlap;
  }
  return mode_;
}

/// Goes on by events per second, of the `elapsed_ns` since the last step.
void Pace::step(std::uint64_t elapsed_ns, double pace) {
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
      const bool other_is_better = pace_of_other_ > (lesser + greater) / 2;
      if (other_is_better) mode_ = other();
      keep(!other_is_better);
      break;
    }
  }
}

}  // namespace weft
