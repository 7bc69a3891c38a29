// SPDX-License-Identifier: Apache-2.0
// Exposure: how long communication of a rank is under way while no GPU compute op hides it.
//
// Where it sits: a rank runner notes when ops begin and end, and asks at the end of each iteration.
//
// Model: time with at least one communication op under way and no GPU compute op running; CPU ops
// do not hide it. Of several communicators under way, each has all of that time.
// What begins and ends ahead of the clock (host/ranks/rank_runner) counts when its time has come.
// Threads: as its rank.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/containers/fifo.hpp"
#include "core/values/units.hpp"

namespace weft {

class Exposure {
 public:
  enum class Change : std::uint8_t { compute_begins, compute_ends, communication_begins, communication_ends };

  explicit Exposure(std::size_t communicators) : communicating_in_(communicators), by_communicator_(communicators) {}

  /// Counts from here on. Requires: nothing has been noted.
  void begin(Time now) { accounted_until_ = now; }
  /// Something begins or ends at an instant, now or later. The communicator is that of
  /// communication.
  void note(Change change, std::uint16_t communicator, Time at, Time now);
  /// Counts until now.
  void account(Time now);
  /// Changes that lie ahead.
  std::uint32_t changes_ahead() const { return ahead_.size(); }
  bool is_communicating() const { return communicating_ > 0; }
  /// Exposed since it was last asked, as of the last account().
  Duration take_exposed() { return std::exchange(exposed_, Duration::zero()); }
  /// By communicator, since the beginning and until the last thing that had been noted by then.
  std::vector<Duration> by_communicator(Time until) const;

 private:
  struct Noted {
    Time at;
    Change change = Change::compute_begins;
    std::uint16_t communicator = 0;
  };

  void count_until(Time time);
  void take(const Noted& noted);
  void take_until(Time time);

  std::uint32_t gpu_computing_ = 0;
  std::uint32_t communicating_ = 0;
  std::vector<std::uint32_t> communicating_in_;  ///< by communicator: ops under way
  std::vector<std::uint16_t> communicators_;     ///< those with ops under way
  Fifo<Noted> ahead_;                            ///< in order of time
  Time accounted_until_;
  Duration exposed_;
  std::vector<Duration> by_communicator_;
};

}  // namespace weft
