// SPDX-License-Identifier: Apache-2.0
// Pace: decides by measurement whether a run goes faster on all its threads or on one.
//
// Where it sits: the engine's coordinating worker asks it between windows. A window with little
// work costs more in waiting for each other than it gains, and so does a machine with fewer free
// cores than threads; neither can be known beforehand, both can be measured.
//
// Model: what all threads together worked in windows on all of them, over the time that these took,
// says what they gain at most: 1 to the number of threads. Below 1.1 one thread goes on at once;
// halfway and above all go on at first, and nothing is compared for 400 ms. Whether threads take
// from each other what they gain (caches, memory, cores that others use) only a comparison tells:
// of events handled per second of wall time, in three trials of 5 ms: the way that the run goes,
// the other, and the first again. Where the other lies between the two, the run changes by itself
// by more than what is compared (at its beginning memory is touched for the first time): other and
// first are tried once more, up to four times, and in the end the other must exceed the mean of the
// two. The faster way is kept for 25 ms, then they are compared again; every comparison that
// confirms the choice makes the time until the next four times as long, up to 3.2 s. So a short run
// does not stay with a choice that a machine busy otherwise made for it. However long windows are,
// a trial has at least one; where changing the way took long, a trial takes twice as long on top,
// as memory has moved. Where a trial takes 10 ms and more, every comparison, and the first as well,
// comes no sooner than after 40 times as long.
// It moves no simulated result: which thread runs a window does not show.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>

namespace weft {

class Pace {
 public:
  /// Requires: threads >= 1.
  explicit Pace(std::uint32_t threads) : gain_enough_((1.0 + threads) / 2) {}

  enum class Mode : std::uint8_t { all_threads = 0, one_thread = 1 };

  Mode mode() const { return mode_; }
  /// Whether a trial is under way: then look after every window.
  bool trying() const { return step_ != Step::hold; }
  /// Of the windows on all threads that were measured.
  struct Overlap {
    std::uint64_t busy_ns = 0;  ///< what all threads worked
    std::uint64_t wall_ns = 0;  ///< how long the windows took
  };
  /// Tells how far the run has come by now; pauses of the run do not count. Returns the way to go
  /// on.
  Mode look(std::uint64_t wall_ns, std::uint64_t events, const Overlap& overlap);
  /// So much of the time since the last look was neither way's: the change from one to the other.
  void pause(std::uint64_t ns);

 private:
  static constexpr std::uint64_t trial_ns = 5'000'000;
  static constexpr std::uint64_t long_trial_ns = 2 * trial_ns;
  static constexpr std::uint64_t hold_ns_min = 25'000'000;
  static constexpr std::uint64_t hold_ns_first = 16 * hold_ns_min;  ///< where all gain enough
  static constexpr std::uint64_t hold_ns_max = 3'200'000'000;
  static constexpr std::uint64_t hold_growth = 4;
  static constexpr std::uint64_t trials_apart = 40;
  static constexpr int tries_max = 4;
  static constexpr double gain_min = 1.1;

  enum class Step : std::uint8_t { warm_up, before, other, after, hold };

  enum class Gain : std::uint8_t { undecided, too_little, enough };
  Gain gain_of_all(std::uint64_t wall_ns, const Overlap& overlap);
  void step(std::uint64_t elapsed_ns, double pace);
  void keep(bool confirmed);
  Mode other() const { return mode_ == Mode::all_threads ? Mode::one_thread : Mode::all_threads; }

  double gain_enough_;
  Mode mode_ = Mode::all_threads;
  Step step_ = Step::warm_up;
  bool compared_ = false;         ///< or found windows long
  int tries_ = 0;                 ///< of the other way, in this comparison
  std::uint64_t longest_ns_ = 0;  ///< trial of this comparison, or change before it
  std::uint64_t pause_ns_ = 0;    ///< that the last change took
  std::uint64_t hold_ns_ = hold_ns_min;
  std::uint64_t since_wall_ns_ = 0;
  std::uint64_t since_events_ = 0;
  std::uint64_t overlap_since_wall_ns_ = 0;
  Overlap since_overlap_;
  double pace_before_ = 0;  ///< events per ns, like the next
  double pace_of_other_ = 0;
};

}  // namespace weft
