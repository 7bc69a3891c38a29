// SPDX-License-Identifier: Apache-2.0
// Duration model: how long a job of job mode holds its GPUs.
//
// Where it sits: part of a JobSpec; JobLifecycle draws from it when the job starts, each time the
// same.
//
// Model, with the text that describes each (quantities carry units, shape numbers do not):
//   "2h"                     always the same
//   "exponential(2h)"        mean
//   "lognormal(1h, 0.5)"     median m and sigma s of the logarithm: m * exp(s * N(0,1)),
//                            mean m * exp(s^2 / 2)
//   "uniform(1h, 3h)"        between minimum and maximum
//   "normal(1h, 10min)"      mean and standard deviation before it is truncated at 0 (negative
//                            draws are drawn again)
// Draws come from the counter-based stream of (seed, job, purpose): they depend neither on the
// order in which jobs start nor on threads.
//
// Invariants
//   1. A draw is >= 0. One that no simulated clock could hold comes out as Duration::max(), which
//      ends the run when the job starts.
//   2. The mean fits the clock and is 0 for no distribution: parse() refuses what does not.
//   3. to_text() is read back to the same model.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/ids.hpp"
#include "core/values/random.hpp"
#include "core/values/units.hpp"

namespace weft {

class DurationModel {
 public:
  enum class Shape : std::uint8_t { fixed, exponential, lognormal, uniform, normal };

  DurationModel() = default;
  static DurationModel fixed(Duration duration);
  /// Throws InputError at `place`: [bad-duration], [unknown-distribution], [out-of-range].
  static DurationModel parse(std::string_view text, const SourcePlace& place);

  Shape shape() const { return shape_; }
  /// A draw for one job of a run.
  Duration sample(std::uint64_t seed, JobId job) const;
  /// A draw for whoever owns the stream.
  Duration sample(RandomStream stream) const;
  /// Expected value of the draws, to the nearest tick.
  Duration mean() const;
  std::string to_text() const;

  friend bool operator==(const DurationModel&, const DurationModel&) = default;

 private:
  Shape shape_ = Shape::fixed;
  Duration first_;    ///< the duration, mean, median or minimum
  Duration second_;   ///< maximum or standard deviation
  double sigma_ = 0;  ///< of the logarithm; lognormal only
};

}  // namespace weft
