// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_templates/size_law.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>

#include "core/text/diagnostics.hpp"
#include "workloads/job_templates/root.hpp"

namespace weft {

namespace {

/// Exponents beyond these leave all jobs with the least or the most GPUs.
constexpr double exponent_min = -30;
constexpr double exponent_max = 30;

/// Shares of the sizes from 2^first on, which add up to `sum`; those below are left as they are.
void spread(std::vector<double>& shares, std::size_t first, double exponent, double sum) {
  const double most = exponent < 0 ? static_cast<double>(shares.size() - 1) : static_cast<double>(first);
  double total = 0;
  for (std::size_t k = first; k < shares.size(); ++k) {
    shares[k] = portable_exp(-exponent * (static_cast<double>(k) - most) * std::numbers::ln2);
    total += shares[k];
  }
  for (std::size_t k = first; k < shares.size(); ++k) shares[k] *= sum / total;
}

double mean_of(const std::vector<double>& shares) {
  double mean = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) mean += shares[k] * std::ldexp(1.0, static_cast<int>(k));
  return mean;
}

InputError no_fit(double gpus_mean, std::uint32_t gpus_max, double one_gpu_share_min, const SourcePlace& place) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "no job sizes from 1 to %u GPUs have a mean of %g if %g %% of the jobs have one GPU",
                gpus_max, gpus_mean, one_gpu_share_min * 100);
  return InputError({Severity::error, "no-fit", text.data(), place, "raise gpus_max, or lower gpus_mean or one_gpu_share_min"});
}

}  // namespace

double SizeLaw::mean() const { return mean_of(shares); }

std::size_t SizeLaw::draw(RandomStream& stream) const {
  double left = stream.uniform();
  for (std::size_t k = 0; k + 1 < shares.size(); ++k) {
    left -= shares[k];
    if (left < 0) return k;
  }
  return shares.size() - 1;
}

SizeLaw fit_size_law(double gpus_mean, std::uint32_t gpus_max, double one_gpu_share_min, const SourcePlace& place) {
  SizeLaw law;
  law.shares.resize(static_cast<std::size_t>(std::countr_zero(gpus_max)) + 1);
  if (gpus_mean == 1 || gpus_max == 1) {
    if (gpus_mean != 1) throw no_fit(gpus_mean, gpus_max, one_gpu_share_min, place);
    law.shares.front() = 1;
    law.one_gpu_apart = true;
    return law;
  }
  const auto fit = [&](std::size_t first, double sum) {
    const auto exponent = root_between(exponent_min, exponent_max, [&](double tried) {
      spread(law.shares, first, tried, sum);
      return mean_of(law.shares) - gpus_mean;
    });
    if (!exponent) throw no_fit(gpus_mean, gpus_max, one_gpu_share_min, place);
    law.exponent = std::round(*exponent * 1e6) / 1e6;
    spread(law.shares, first, law.exponent, sum);
  };
  fit(0, 1);
  if (law.shares.front() < one_gpu_share_min) {
    law.one_gpu_apart = true;
    law.shares.front() = one_gpu_share_min;
    fit(1, 1 - one_gpu_share_min);
  }
  return law;
}

}  // namespace weft
