// Pace: decides by measurement whether a run goes faster on all its threads or on one.
//
// Where it sits: the engine's coordinating worker asks it between windows. A window with little work costs more in waiting for
// each other than it gains, and so does a machine with fewer free cores than threads; neither can be known beforehand, both can
// be measured.
//
// Model: events handled per second of wall time. After 5 ms in which memory is touched for the first time, each way is tried for 5 ms, the faster one
// is kept for 200 ms, then the other is tried again; every trial that confirms the choice doubles the time until the next, up to 3.2 s.
// However long windows are, at least one is tried, and at least 40 times as long as a trial took lies before the next. Where a window takes 10 ms and
// more, the first trial of one thread comes only then, too.
// It moves no simulated result: which thread runs a window does not show.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>

namespace weft {

class Pace {
 public:
  enum class Way : std::uint8_t { all_threads = 0, one_thread = 1 };

  Way way() const { return way_; }
  /// Whether a trial is under way: then look after every window.
  bool trying() const { return trying_; }
  /// Tells how far the run has come by now. Returns the way to go on.
  Way look(std::uint64_t wall_ns, std::uint64_t events);
  /// The run goes on after a pause: what is under way begins again.
  void resume(std::uint64_t wall_ns, std::uint64_t events) { begin(way_, trying_, wall_ns, events); }

 private:
  static constexpr std::uint64_t kTrialNs = 5'000'000;
  static constexpr std::uint64_t kLongTrialNs = 2 * kTrialNs;
  static constexpr std::uint64_t kHoldNsMin = 200'000'000;
  static constexpr std::uint64_t kHoldNsMax = 3'200'000'000;
  static constexpr std::uint64_t kTrialsApart = 40;

  Way other() const { return way_ == Way::all_threads ? Way::one_thread : Way::all_threads; }
  double& events_per_ns(Way way) { return events_per_ns_[static_cast<std::uint8_t>(way)]; }
  void begin(Way way, bool trying, std::uint64_t wall_ns, std::uint64_t events);

  Way way_ = Way::all_threads;
  bool trying_ = true;
  bool warming_up_ = true;
  bool both_tried_ = false;
  std::uint64_t hold_ns_ = kHoldNsMin;
  std::uint64_t since_wall_ns_ = 0;
  std::uint64_t since_events_ = 0;
  double events_per_ns_[2] = {0, 0};
};

}  // namespace weft
