// SPDX-License-Identifier: Apache-2.0
// Fitted jobs: a job trace drawn from laws that are fitted to a cluster's aggregates.
//
// Where it sits: the factory of all job_templates(); published_clusters gives the parameters their
// defaults.
//
// Model: GPUs by size_law, the end (completed, cancelled, failed) by its share, the run time by
// run_time_law, submissions by week_profile, each drawn from a stream of its own, so that jobs of
// one seed keep their sizes when, say, the rate changes. Run times are whole seconds, one at least,
// as in the logs. The virtual cluster is drawn with its number of nodes as weight, among those that
// have enough GPUs for the job, and becomes the job's group. How the job ended becomes its model,
// for want of a column of its own: rules of a scenario can match it. The aggregates are those of
// the laws; a sample has them within its sampling error, which the heavy tail makes large:
// tests/workloads/job_templates/job_templates_test. What it leaves out: that users submit many jobs
// at once, that jobs of one user are alike, that the mix changes over months.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/text/param_rows.hpp"
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

struct FittedJobsSettings {
  std::uint32_t jobs;
  double load;
  std::uint64_t published_jobs;
  double published_days;
  Duration run_mean;
  Duration run_median;
  Duration run_max;
  double gpus_mean;
  std::uint32_t gpus_max;
  double one_gpu_share_min;
  std::array<double, 3> shares;  ///< of the jobs that completed, were cancelled and failed
  std::array<double, 3> gpu_s;   ///< GPU-seconds of these three kinds of jobs
  double day_swing;
  double busiest_hour;
  double weekend;
  std::string virtual_clusters;
  std::uint32_t gpus_per_node;
};

/// The parameters of a template, with a cluster's aggregates as defaults.
constexpr std::array<ParamSpec, 21> fitted_jobs_params(const PublishedCluster& cluster) {
  return {{
      param<&FittedJobsSettings::jobs>({.name = "jobs",
                                        .default_text = cluster.jobs,
                                        .minimum = "1",
                                        .maximum = "10000000",
                                        .meaning = "Jobs to make.",
                                        .origin = "as many as published"}),
      param<&FittedJobsSettings::load>({.name = "load",
                                        .default_text = "1",
                                        .minimum = "0.001",
                                        .maximum = "1000",
                                        .meaning = "Factor on the rate of submissions, which is published_jobs in published_days.",
                                        .origin = "as published"}),
      param<&FittedJobsSettings::published_jobs>({.name = "published_jobs",
                                                  .default_text = cluster.jobs,
                                                  .minimum = "1",
                                                  .maximum = "1000000000",
                                                  .meaning = "Jobs that the sums of GPU time are of.",
                                                  .origin = cluster.source}),
      param<&FittedJobsSettings::published_days>({.name = "published_days",
                                                  .default_text = cluster.days,
                                                  .minimum = "0.01",
                                                  .maximum = "10000",
                                                  .meaning = "Days in which they were submitted.",
                                                  .origin = cluster.days_source}),
      param<&FittedJobsSettings::run_mean>({.name = "run_mean",
                                            .default_text = cluster.run_mean,
                                            .minimum = "1s",
                                            .maximum = "86400000s",
                                            .meaning = "Mean run time.",
                                            .origin = cluster.source}),
      param<&FittedJobsSettings::run_median>({.name = "run_median",
                                              .default_text = cluster.run_median,
                                              .minimum = "1s",
                                              .maximum = "86400000s",
                                              .meaning = "Median run time.",
                                              .origin = cluster.source}),
      param<&FittedJobsSettings::run_max>({.name = "run_max",
                                           .default_text = cluster.run_max,
                                           .minimum = "1s",
                                           .maximum = "86400000s",
                                           .meaning = "Limit of run times; what would take longer ends there.",
                                           .origin = cluster.run_max_source}),
      param<&FittedJobsSettings::gpus_mean>({.name = "gpus_mean",
                                             .default_text = cluster.gpus_mean,
                                             .minimum = "1",
                                             .maximum = "16777216",
                                             .meaning = "Mean GPUs of a job.",
                                             .origin = cluster.source}),
      param<&FittedJobsSettings::gpus_max>({.name = "gpus_max",
                                            .default_text = cluster.gpus_max,
                                            .minimum = "1",
                                            .maximum = "16777216",
                                            .meaning = "Most GPUs of a job; a power of two.",
                                            .origin = cluster.gpus_max_source}),
      param<&FittedJobsSettings::one_gpu_share_min>({.name = "one_gpu_share_min",
                                                     .default_text = "0.55",
                                                     .minimum = "0",
                                                     .maximum = "0.999",
                                                     .meaning = "At least this share of the jobs has one GPU.",
                                                     .origin = "assumption: the published median of GPUs is 1, so more than half"}),
      param<&FittedJobsSettings::shares, 0>({.name = "completed_share",
                                             .default_text = cluster.completed_share,
                                             .minimum = "0",
                                             .maximum = "1",
                                             .meaning = "Share of the jobs that completed.",
                                             .origin = cluster.source}),
      param<&FittedJobsSettings::shares, 1>({.name = "cancelled_share",
                                             .default_text = cluster.cancelled_share,
                                             .minimum = "0",
                                             .maximum = "1",
                                             .meaning = "Share of the jobs that were cancelled.",
                                             .origin = cluster.source}),
      param<&FittedJobsSettings::shares, 2>({.name = "failed_share",
                                             .default_text = cluster.failed_share,
                                             .minimum = "0",
                                             .maximum = "1",
                                             .meaning = "Share of the jobs that failed.",
                                             .origin = cluster.source}),
      param<&FittedJobsSettings::gpu_s, 0>({.name = "completed_gpu_s",
                                            .default_text = cluster.completed_gpu_s,
                                            .minimum = "0",
                                            .maximum = "1e18",
                                            .meaning = "GPU-seconds of the published jobs that completed, in all.",
                                            .origin = cluster.source}),
      param<&FittedJobsSettings::gpu_s, 1>({.name = "cancelled_gpu_s",
                                            .default_text = cluster.cancelled_gpu_s,
                                            .minimum = "0",
                                            .maximum = "1e18",
                                            .meaning = "GPU-seconds of the published jobs that were cancelled, in all.",
                                            .origin = cluster.source}),
      param<&FittedJobsSettings::gpu_s, 2>({.name = "failed_gpu_s",
                                            .default_text = cluster.failed_gpu_s,
                                            .minimum = "0",
                                            .maximum = "1e18",
                                            .meaning = "GPU-seconds of the published jobs that failed, in all.",
                                            .origin = cluster.source}),
      param<&FittedJobsSettings::day_swing>(
          {.name = "day_swing",
           .default_text = "0.6",
           .minimum = "0",
           .maximum = "0.999",
           .meaning = "Submissions rise and fall by this share of their mean in the course of a day.",
           .origin = "assumption; Hu et al., SC 2021, report a daily pattern with few submissions at night"}),
      param<&FittedJobsSettings::busiest_hour>(
          {.name = "busiest_hour",
           .default_text = "16",
           .minimum = "0",
           .maximum = "24",
           .meaning = "Hour of the day with the most submissions.",
           .origin = "assumption: working hours, with the fewest submissions at 4 in the morning"}),
      param<&FittedJobsSettings::weekend>({.name = "weekend",
                                           .default_text = "0.7",
                                           .minimum = "0.001",
                                           .maximum = "10",
                                           .meaning = "Submissions on Saturdays and Sundays, relative to other days.",
                                           .origin = "assumption"}),
      param<&FittedJobsSettings::virtual_clusters>(
          {.name = "virtual_clusters",
           .default_text = cluster.virtual_clusters,
           .meaning = "Virtual clusters with their nodes, NAME:NODES joined by commas; empty: jobs have no group.",
           .origin = cluster.virtual_clusters_source}),
      param<&FittedJobsSettings::gpus_per_node>({.name = "gpus_per_node",
                                                 .default_text = "8",
                                                 .minimum = "1",
                                                 .maximum = "1024",
                                                 .meaning = "GPUs of a node of a virtual cluster.",
                                                 .origin = "both data sets: 8 GPUs each"}),
  }};
}

/// Throws InputError [no-fit], [bad-value].
JobTrace make_fitted_jobs(const ParamSet& params, std::uint64_t seed, const SourcePlace& place);

}  // namespace weft
