// SPDX-License-Identifier: Apache-2.0
// Size law: how many jobs want how many GPUs, from their mean and their maximum.
//
// Where it sits: fitted_jobs draws the GPUs of its jobs from it.
//
// Model: sizes are powers of two up to the maximum, and the share of 2^k GPUs falls as 2^(-exponent
// k); the exponent is the one that gives the mean. Where fewer jobs than `one_gpu_share_min` would
// want one GPU, these are that many and the power law holds from two GPUs on: with a published
// median of one GPU it must be more than half.
// The exponent is rounded to 1e-6, so that a trace does not depend on the last bits of a machine's
// mathematical library.
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/random.hpp"

namespace weft {

struct SizeLaw {
  double exponent = 0;
  bool one_gpu_apart = false;  ///< the power law holds from two GPUs on
  std::vector<double> shares;  ///< of jobs with 2^k GPUs; they add up to 1

  double mean() const;
  /// The k of 2^k GPUs.
  std::size_t draw(RandomStream& stream) const;
};

/// Requires: `gpus_max` is a power of two. Throws InputError [no-fit].
SizeLaw fit_size_law(double gpus_mean, std::uint32_t gpus_max, double one_gpu_share_min, const SourcePlace& place);

}  // namespace weft
