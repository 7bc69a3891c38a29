// Failure plan: which part of the cluster fails when, and how long its repair takes.
//
// Where it sits: JobLifecycle owns the one of a run and takes failures from it in order of time.
//
// Model
//   - By chance: each part of a kind with an MTBF fails after a time of its own, Weibull with the shape of the settings (1: exponential) and
//     that mean; once it works again, after another one (a renewal process). Draws come from the stream (seed, part, episode), so that they depend
//     on nothing else.
//   - By log: what the log lists. A part that fails again before it works again stays out until the later end.
//   - The time to detect a failure is the settings'; a repair takes a draw from their distribution, or what the log says.
// Weibull with shape k and mean m: scale m / Gamma(1 + 1/k), draws scale * (-ln U)^(1/k).
// Thread safety: belongs to the scheduler's logical process.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "core/params.hpp"
#include "core/random.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "scheduler/duration_model.hpp"
#include "scheduler/failures/part.hpp"

namespace weft {

/// Parameter table "failure".
ParamTable failure_params();

struct LoggedFailure {
  Time at;
  Part part;
  std::optional<Duration> repair;  ///< none: as by chance
};

/// A CSV table: time_s, part and, optionally, repair_s (empty: a draw). Rows in any order. Throws InputError with all that is wrong: what the CSV
/// reader finds, and [unknown-part].
std::vector<LoggedFailure> read_failure_log(const SourceText& source, const ClusterState& cluster);

struct FailureSettings {
  std::array<double, part_kind_count> mtbf_h{};  ///< by PartKind, hours; 0: never
  double weibull_shape = 1;
  std::vector<LoggedFailure> log;
  FailureScope scope = FailureScope::host;
  Duration detection;
  DurationModel repair;
  std::uint32_t hot_spares = 0;  ///< hosts
  std::uint32_t cold_spares = 0;
  Duration cold_start;

  /// By the table "failure", without the log. Throws InputError for a repair that is no duration model.
  static FailureSettings of(const ParamSet& params);
  bool has_failures() const;
  std::uint64_t spares() const { return std::uint64_t{hot_spares} + cold_spares; }
};

struct Failure {
  Time at;
  Part part;
  Duration repair;
  bool renews = false;  ///< renew() is to be called when it works again
};

class FailurePlan {
 public:
  FailurePlan(const FailureSettings& settings, const ClusterState& cluster, std::uint64_t seed);

  /// When the next part fails; Time::max() if none does.
  Time next() const { return upcoming_.empty() ? Time::max() : upcoming_.top().at; }
  /// The next failure. Requires: there is one.
  Failure take();
  /// A part that failed by chance works again from `now` on.
  void renew(const Part& part, Time now);

 private:
  struct Upcoming {
    Time at;
    Part part;
    Duration repair;
    bool by_chance = false;
    friend bool operator>(const Upcoming& a, const Upcoming& b) {
      return std::tie(a.at, a.part, a.by_chance, a.repair) > std::tie(b.at, b.part, b.by_chance, b.repair);
    }
  };
  Duration time_to_failure(const Part& part, std::uint32_t episode) const;

  std::array<double, part_kind_count> scale_h_{};
  double weibull_shape_;
  DurationModel repair_;
  std::uint64_t seed_;
  std::array<std::vector<std::uint32_t>, part_kind_count>
      failures_;  ///< by kind and index: how often it was drawn when the part fails
  std::priority_queue<Upcoming, std::vector<Upcoming>, std::greater<>> upcoming_;
};

/// Gamma function for x in [1, 11], within 1e-13, the same on every platform.
double gamma_function(double x);

}  // namespace weft
