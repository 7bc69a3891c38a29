// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_templates/run_time_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "core/text/diagnostics.hpp"
#include "workloads/job_templates/root.hpp"

namespace weft {

namespace {

/// What is searched. Half the jobs run for a ten-millionth of the mean or less at the largest
/// sigma.
constexpr double sigma_min = 0.05;
constexpr double sigma_max = 6;
constexpr double size_exponent_min = -3;
constexpr double size_exponent_max = 5;
constexpr double mu_min = -100;
constexpr double mu_max = 100;

double normal_below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

/// E[min(X, max)] of a log-normal X.
double capped_mean(double mu, double sigma, double max) {
  const double z = (std::log(max) - mu) / sigma;
  return std::exp(mu + sigma * sigma / 2) * normal_below(z - sigma) + max * normal_below(-z);
}

/// One set of aggregates with one law of sizes: the functions whose roots the parameters are.
class Fit {
 public:
  Fit(const RunTimeAggregates& aggregates, const SizeLaw& sizes) : aggregates_(aggregates), sizes_(sizes) {}

  /// None if no mu gives some state its GPU time.
  std::optional<RunTimeLaw> with(double sigma, double size_exponent) const {
    RunTimeLaw law{sigma, size_exponent, {}, aggregates_.max_s};
    for (std::size_t end = 0; end < job_end_count; ++end) {
      if (aggregates_.shares[end] == 0) continue;
      const auto mu = root_between(mu_min, mu_max, [&](double tried) {
        double gpu_time = 0;
        for (std::size_t k = 0; k < sizes_.shares.size(); ++k) {
          gpu_time +=
              sizes_.shares[k] * std::ldexp(1.0, static_cast<int>(k)) * capped_mean(tried + shift(law, k), sigma, law.max_s);
        }
        return gpu_time - aggregates_.gpu_time_s[end];
      });
      if (!mu) return std::nullopt;
      law.mu[end] = *mu;
    }
    return law;
  }

  /// The law of this sigma that has the mean.
  std::optional<RunTimeLaw> with_mean(double sigma) const {
    bool is_possible = true;
    const auto exponent = root_between(size_exponent_min, size_exponent_max, [&](double tried) {
      const auto law = with(sigma, tried);
      is_possible = is_possible && law.has_value();
      return law ? mean(*law) - aggregates_.mean_s : 0;
    });
    return is_possible && exponent ? with(sigma, *exponent) : std::nullopt;
  }

  double share_below_median(const RunTimeLaw& law) const {
    return over_all(law, [&](double mu) { return normal_below((std::log(aggregates_.median_s) - mu) / law.sigma); });
  }

 private:
  static double shift(const RunTimeLaw& law, std::size_t k) {
    return law.size_exponent * static_cast<double>(k) * std::numbers::ln2;
  }

  double mean(const RunTimeLaw& law) const {
    return over_all(law, [&](double mu) { return capped_mean(mu, law.sigma, law.max_s); });
  }

  template <class F>
  double over_all(const RunTimeLaw& law, const F& of_mu) const {
    double sum = 0;
    for (std::size_t end = 0; end < job_end_count; ++end) {
      for (std::size_t k = 0; k < sizes_.shares.size(); ++k) {
        sum += aggregates_.shares[end] * sizes_.shares[k] * of_mu(law.mu[end] + shift(law, k));
      }
    }
    return sum;
  }

  const RunTimeAggregates& aggregates_;
  const SizeLaw& sizes_;
};

double rounded(double parameter) { return std::round(parameter * 1e6) / 1e6; }

InputError no_fit(std::string message, std::string help, const SourcePlace& place) {
  return InputError({Severity::error, "no-fit", std::move(message), place, std::move(help)});
}

}  // namespace

double RunTimeLaw::draw(std::size_t k, JobEnd end, RandomStream& stream) const {
  const double centre = mu[static_cast<std::size_t>(end)] + size_exponent * static_cast<double>(k) * std::numbers::ln2;
  return std::min(stream.lognormal(centre, sigma), max_s);
}

RunTimeLaw fit_run_time_law(const RunTimeAggregates& aggregates, const SizeLaw& sizes, const SourcePlace& place) {
  const Fit fit(aggregates, sizes);
  bool has_mean = true;
  const auto sigma = root_between(sigma_min, sigma_max, [&](double tried) {
    const auto law = fit.with_mean(tried);
    has_mean = has_mean && law.has_value();
    return law ? fit.share_below_median(*law) - 0.5 : 0;
  });
  if (!has_mean) {
    throw no_fit("no run times have both this mean and these GPU times",
                 "GPU time per job over mean GPUs and mean run time says how much longer large jobs run; between 1 and 8 is common",
                 place);
  }
  if (!sigma) {
    throw no_fit("no log-normal run times have this mean and this median",
                 "the median of run times is far below the mean, but not below a millionth of it", place);
  }
  RunTimeLaw law = *fit.with_mean(*sigma);
  law.sigma = rounded(law.sigma);
  law.size_exponent = rounded(law.size_exponent);
  for (double& mu : law.mu) mu = rounded(mu);
  return law;
}

}  // namespace weft
