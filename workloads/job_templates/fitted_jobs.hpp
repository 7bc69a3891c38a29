// Fitted jobs: a job trace drawn from laws that are fitted to a cluster's aggregates.
//
// Where it sits: the factory of all job_templates(); published_clusters gives the parameters their defaults.
//
// Model: GPUs by size_law, the end (completed, cancelled, failed) by its share, the run time by run_time_law, submissions by week_profile, each drawn
// from a stream of its own, so that jobs of one seed keep their sizes when, say, the rate changes. Run times are whole seconds, one at least, as in
// the logs. The virtual cluster is drawn with its number of nodes as weight, among those that have enough GPUs for the job, and becomes the job's
// group. How the job ended becomes its model, for want of a column of its own: rules of a scenario can match it.
// The aggregates are those of the laws; a sample has them within its sampling error, which the heavy tail makes large: tests/workloads/job_templates/job_templates_test.
// What it leaves out: that users submit many jobs at once, that jobs of one user are alike, that the mix changes over months.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/text/params.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// What operators published of one cluster, as texts for a table of parameters.
struct PublishedCluster {
  std::string_view jobs;
  std::string_view days;
  std::string_view run_mean;
  std::string_view run_median;
  std::string_view run_max;
  std::string_view gpus_mean;
  std::string_view gpus_max;
  std::string_view completed_share;
  std::string_view cancelled_share;
  std::string_view failed_share;
  std::string_view completed_gpu_s;
  std::string_view cancelled_gpu_s;
  std::string_view failed_gpu_s;
  std::string_view virtual_clusters;
  std::string_view source;  ///< of the aggregates
  std::string_view days_source;
  std::string_view run_max_source;
  std::string_view gpus_max_source;
  std::string_view virtual_clusters_source;
};

/// The parameters of a template, with a cluster's aggregates as defaults.
constexpr std::array<ParamSpec, 21> fitted_jobs_params(const PublishedCluster& cluster) {
  return {{
      {"jobs", ParamKind::integer, cluster.jobs, "1", "10000000", "", "Jobs to make.", "as many as published"},
      {"load", ParamKind::real, "1", "0.001", "1000", "",
       "Factor on the rate of submissions, which is published_jobs in published_days.", "as published"},
      {"published_jobs", ParamKind::integer, cluster.jobs, "1", "1000000000", "", "Jobs that the sums of GPU time are of.",
       cluster.source},
      {"published_days", ParamKind::real, cluster.days, "0.01", "10000", "", "Days in which they were submitted.",
       cluster.days_source},
      {"run_mean", ParamKind::duration, cluster.run_mean, "1s", "86400000s", "", "Mean run time.", cluster.source},
      {"run_median", ParamKind::duration, cluster.run_median, "1s", "86400000s", "", "Median run time.", cluster.source},
      {"run_max", ParamKind::duration, cluster.run_max, "1s", "86400000s", "",
       "Limit of run times; what would take longer ends there.", cluster.run_max_source},
      {"gpus_mean", ParamKind::real, cluster.gpus_mean, "1", "16777216", "", "Mean GPUs of a job.", cluster.source},
      {"gpus_max", ParamKind::integer, cluster.gpus_max, "1", "16777216", "", "Most GPUs of a job; a power of two.",
       cluster.gpus_max_source},
      {"one_gpu_share_min", ParamKind::real, "0.55", "0", "0.999", "", "At least this share of the jobs has one GPU.",
       "assumption: the published median of GPUs is 1, so more than half"},
      {"completed_share", ParamKind::real, cluster.completed_share, "0", "1", "", "Share of the jobs that completed.",
       cluster.source},
      {"cancelled_share", ParamKind::real, cluster.cancelled_share, "0", "1", "", "Share of the jobs that were cancelled.",
       cluster.source},
      {"failed_share", ParamKind::real, cluster.failed_share, "0", "1", "", "Share of the jobs that failed.", cluster.source},
      {"completed_gpu_s", ParamKind::real, cluster.completed_gpu_s, "0", "1e18", "",
       "GPU-seconds of the published jobs that completed, in all.", cluster.source},
      {"cancelled_gpu_s", ParamKind::real, cluster.cancelled_gpu_s, "0", "1e18", "",
       "GPU-seconds of the published jobs that were cancelled, in all.", cluster.source},
      {"failed_gpu_s", ParamKind::real, cluster.failed_gpu_s, "0", "1e18", "",
       "GPU-seconds of the published jobs that failed, in all.", cluster.source},
      {"day_swing", ParamKind::real, "0.6", "0", "0.999", "",
       "Submissions rise and fall by this share of their mean in the course of a day.",
       "assumption; Hu et al., SC 2021, report a daily pattern with few submissions at night"},
      {"busiest_hour", ParamKind::real, "16", "0", "24", "", "Hour of the day with the most submissions.",
       "assumption: working hours, with the fewest submissions at 4 in the morning"},
      {"weekend", ParamKind::real, "0.7", "0.001", "10", "", "Submissions on Saturdays and Sundays, relative to other days.",
       "assumption"},
      {"virtual_clusters", ParamKind::text, cluster.virtual_clusters, "", "", "",
       "Virtual clusters with their nodes, NAME:NODES joined by commas; empty: jobs have no group.",
       cluster.virtual_clusters_source},
      {"gpus_per_node", ParamKind::integer, "8", "1", "1024", "", "GPUs of a node of a virtual cluster.",
       "both data sets: 8 GPUs each"},
  }};
}

/// Throws InputError [no-fit], [bad-value].
JobTrace make_fitted_jobs(const ParamSet& params, std::uint64_t seed, const SourcePlace& place);

}  // namespace weft
