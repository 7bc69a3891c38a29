// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_templates/fitted_jobs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/plain_number.hpp"
#include "workloads/job_templates/run_time_law.hpp"
#include "workloads/job_templates/size_law.hpp"
#include "workloads/job_templates/week_profile.hpp"

namespace weft {

namespace {

/// Purposes of the streams, all of entity 0.
enum Purpose : std::uint32_t { sizes_purpose, ends_purpose, run_times_purpose, submissions_purpose, groups_purpose };

constexpr std::array<std::string_view, job_end_count> end_names = {"completed", "cancelled", "failed"};

InputError bad_value(std::string message, std::string help, const SourcePlace& place) {
  return InputError({Severity::error, "bad-value", std::move(message), place, std::move(help)});
}

struct VirtualCluster {
  std::string name;
  std::uint32_t nodes = 0;
};

std::vector<VirtualCluster> virtual_clusters(const std::string& module, std::string_view left, const SourcePlace& place) {
  std::vector<VirtualCluster> clusters;
  std::set<std::string_view> names;
  while (!left.empty()) {
    const std::string_view entry = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), entry.size() + 1));
    const std::size_t colon = entry.find(':');
    const std::string_view name = entry.substr(0, colon);
    const auto nodes = colon == std::string_view::npos ? std::nullopt : plain_number<std::uint32_t>(entry.substr(colon + 1));
    if (name.empty() || !nodes || *nodes == 0 || !names.insert(name).second) {
      throw bad_value(fmt::format("{}: {} is no virtual cluster, or there are two of that name", module, in_quotes(entry)),
                      "names and numbers of nodes, as in \"research:12,product:4\"", place);
    }
    clusters.push_back({std::string(name), *nodes});
  }
  return clusters;
}

/// Draws virtual clusters for jobs of 2^k GPUs.
class GroupLaw {
 public:
  GroupLaw(const std::string& module, const FittedJobsSettings& settings, std::size_t size_count, const SourcePlace& place)
      : clusters_(virtual_clusters(module, settings.virtual_clusters, place)), gpus_per_node_(settings.gpus_per_node) {
    if (clusters_.empty()) return;
    for (std::size_t k = 0; k < size_count; ++k) {
      std::uint64_t nodes = 0;
      for (const VirtualCluster& cluster : clusters_) nodes += holds(cluster, k) ? cluster.nodes : 0;
      if (nodes == 0) {
        throw bad_value(fmt::format("{}: no virtual cluster has GPUs for a job of {}", module, 1ULL << k),
                        "lower gpus_max, or give a virtual cluster more nodes", place);
      }
      nodes_.push_back(nodes);
    }
    for (const VirtualCluster& cluster : clusters_) {
      std::size_t held = 0;
      while (held < size_count && holds(cluster, held)) ++held;
      sizes_held_.push_back(held);
    }
  }

  std::string draw(std::size_t k, RandomStream& stream) const {
    if (clusters_.empty()) return {};
    std::uint64_t node = stream.below(nodes_[k]);
    std::size_t i = 0;
    while (sizes_held_[i] <= k || node >= clusters_[i].nodes) {
      if (sizes_held_[i] > k) node -= clusters_[i].nodes;
      ++i;
    }
    return clusters_[i].name;
  }

  std::size_t count() const { return clusters_.size(); }

 private:
  bool holds(const VirtualCluster& cluster, std::size_t k) const {
    return static_cast<std::uint64_t>(cluster.nodes) * gpus_per_node_ >= 1ULL << k;
  }

  std::vector<VirtualCluster> clusters_;
  std::uint32_t gpus_per_node_;
  std::vector<std::uint64_t> nodes_;     ///< of those that hold jobs of 2^k GPUs, together
  std::vector<std::size_t> sizes_held_;  ///< by virtual cluster: how many of the sizes fit
};

RunTimeAggregates run_time_aggregates(const std::string& module, const FittedJobsSettings& settings, const SourcePlace& place) {
  RunTimeAggregates aggregates;
  aggregates.mean_s = settings.run_mean.in_s();
  aggregates.median_s = settings.run_median.in_s();
  aggregates.max_s = settings.run_max.in_s();
  double sum = 0;
  for (std::size_t end = 0; end < job_end_count; ++end) {
    aggregates.shares[end] = settings.shares[end];
    sum += aggregates.shares[end];
  }
  // Published shares are rounded to a thousandth each.
  if (std::abs(sum - 1) > 0.0051) {
    throw bad_value(fmt::format("{}: the shares of jobs that completed, were cancelled and failed do not add up to 1", module),
                    "set completed_share, cancelled_share and failed_share together", place);
  }
  const auto jobs = static_cast<double>(settings.published_jobs);
  for (std::size_t end = 0; end < job_end_count; ++end) {
    aggregates.shares[end] /= sum;
    const double gpu_s = settings.gpu_s[end];
    if ((aggregates.shares[end] == 0) != (gpu_s == 0)) {
      throw bad_value(fmt::format("{}: jobs that {}{} have a share of 0 or a GPU time of 0, but not both", module,
                                  end == 1 ? "were " : "", end_names[end]),
                      "set both to 0 or neither", place);
    }
    if (gpu_s > 0) aggregates.gpu_time_s[end] = gpu_s / (jobs * aggregates.shares[end]);
  }
  return aggregates;
}

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  std::array<char, 320> buffer{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
  va_end(arguments);
  return buffer.data();
}

std::vector<std::string> assumptions(const SizeLaw& sizes, const RunTimeLaw& run_times, std::size_t groups, double jobs_per_day) {
  std::vector<std::string> lines = {
      sizes.one_gpu_apart
          ? text("%.4g %% of the jobs want 1 GPU, and those of 2^k GPUs become fewer as 2^(-%.4g k) from 2 on",
                 100 * sizes.shares.front(), sizes.exponent)
          : text("jobs of 2^k GPUs become fewer as 2^(-%.4g k); %.4g %% want 1 GPU", sizes.exponent, 100 * sizes.shares.front()),
      text("run times are log-normal with sigma %.4g and rise as GPUs^%.4g; medians for 1 GPU are %.4g s if completed, %.4g s if "
           "cancelled, "
           "%.4g s if failed; none is longer than %.10g s",
           run_times.sigma, run_times.size_exponent, portable_exp(run_times.mu[0]), portable_exp(run_times.mu[1]),
           portable_exp(run_times.mu[2]), run_times.max_s),
      text("%.6g jobs are submitted a day, as a Poisson process with a rate by hour and day of the week", jobs_per_day),
      "how a job ended stands in the column of its model",
  };
  if (groups > 0)
    lines.push_back(text("jobs are spread over %zu virtual clusters by their nodes; nothing keeps them there", groups));
  return lines;
}

}  // namespace

JobTrace make_fitted_jobs(const ParamSet& params, std::uint64_t seed, const SourcePlace& place) {
  const auto settings = filled<FittedJobsSettings>(params);
  const std::uint32_t gpus_max = settings.gpus_max;
  if (!std::has_single_bit(gpus_max)) {
    throw bad_value(fmt::format("{}: gpus_max = {} is no power of two", params.module(), gpus_max),
                    fmt::format("{} or {}", std::bit_floor(gpus_max), std::bit_ceil(gpus_max)), place);
  }
  const SizeLaw sizes = fit_size_law(settings.gpus_mean, gpus_max, settings.one_gpu_share_min, place);
  const RunTimeAggregates aggregates = run_time_aggregates(params.module(), settings, place);
  const RunTimeLaw run_times = fit_run_time_law(aggregates, sizes, place);
  const GroupLaw groups(params.module(), settings, sizes.shares.size(), place);
  const double jobs_per_day = settings.load * static_cast<double>(settings.published_jobs) / settings.published_days;

  RandomStream size_stream(seed, 0, sizes_purpose);
  RandomStream end_stream(seed, 0, ends_purpose);
  RandomStream run_stream(seed, 0, run_times_purpose);
  RandomStream submission_stream(seed, 0, submissions_purpose);
  RandomStream group_stream(seed, 0, groups_purpose);
  WeekProfile week(settings.day_swing, settings.busiest_hour, settings.weekend);

  JobTrace trace;
  trace.name = params.module();
  trace.origin_of_time = "some time of a week that begins on Monday";
  trace.assumptions = assumptions(sizes, run_times, groups.count(), jobs_per_day);
  trace.jobs.resize(settings.jobs);
  double first_s = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    TraceJob& job = trace.jobs[i];
    const double submit_s = std::floor(week.next(jobs_per_day / 86400, submission_stream));
    if (i == 0) first_s = submit_s;
    const std::size_t k = sizes.draw(size_stream);
    const double which = end_stream.uniform();
    const auto end = static_cast<JobEnd>((which >= aggregates.shares[0] ? 1 : 0) +
                                         (which >= aggregates.shares[0] + aggregates.shares[1] ? 1 : 0));
    job.name = "job" + fmt::to_string(i);
    job.group = groups.draw(k, group_stream);
    job.model = end_names[static_cast<std::size_t>(end)];
    job.submit = Duration::from_seconds(submit_s - first_s);
    job.run = Duration::from_seconds(std::max(1.0, std::round(run_times.draw(k, end, run_stream))));
    job.gpus = 1U << k;
    job.line = static_cast<int>(i) + 2;
  }
  return trace;
}

}  // namespace weft
