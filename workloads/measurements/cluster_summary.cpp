// SPDX-License-Identifier: Apache-2.0
#include "workloads/measurements/cluster_summary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/csv_reader.hpp"
#include "core/text/plain_number.hpp"

namespace weft {

namespace {

enum Column : std::size_t {
  id,
  job_num,
  cpu_job_num,
  gpu_job_num,
  avg_run_time_gpu,
  avg_que_time_gpu,
  avg_gpu_num,
  complete_gpu_time,
  cancel_gpu_time,
  fail_gpu_time,
  complete_rate_gpu,
  cancel_rate_gpu,
  fail_rate_gpu,
  gpu_num
};
constexpr std::array columns = {CsvColumn{"id"},
                                CsvColumn{"job_num"},
                                CsvColumn{"cpu_job_num"},
                                CsvColumn{"gpu_job_num"},
                                CsvColumn{"avg_run_time_gpu"},
                                CsvColumn{"avg_que_time_gpu"},
                                CsvColumn{"avg_gpu_num"},
                                CsvColumn{"complete_gpu_time"},
                                CsvColumn{"cancel_gpu_time"},
                                CsvColumn{"fail_gpu_time"},
                                CsvColumn{"complete_rate_gpu"},
                                CsvColumn{"cancel_rate_gpu"},
                                CsvColumn{"fail_rate_gpu"},
                                CsvColumn{"gpu_num", false}};
constexpr std::uint64_t jobs_max = 1'000'000'000'000;
constexpr std::string_view total_id = "total";

/// A number of at least 0; a fault if the field is neither that nor empty.
std::optional<double> number(CsvReader& rows, Column column) {
  const std::string_view text = rows.field(column);
  if (text.empty()) return std::nullopt;
  const auto value = plain_number<double>(text);
  if (value && std::isfinite(*value) && *value >= 0) return value;
  rows.fault(column, "bad-value", fmt::format("{} is no number of 0 or more: \"{}\"", rows.name(column), text),
             "write a plain number, like 13040.598, or nothing");
  return std::nullopt;
}

std::optional<double> sum(std::optional<double> a, std::optional<double> b, std::optional<double> c) {
  return a && b && c ? std::optional<double>(*a + *b + *c) : std::nullopt;
}

void check_total(const std::vector<ClusterSummary>& clusters, const SourceText& source, Diagnostics& diagnostics) {
  const auto total = std::find_if(clusters.begin(), clusters.end(), [](const ClusterSummary& row) { return row.id == total_id; });
  if (total == clusters.end()) return;
  std::uint64_t jobs = 0;
  std::uint64_t gpu_jobs = 0;
  for (const ClusterSummary& row : clusters) {
    if (row.id == total_id) continue;
    jobs += row.jobs;
    gpu_jobs += row.gpu_jobs;
  }
  const auto expect = [&](std::uint64_t said, std::uint64_t added, const char* what) {
    if (said == added) return;
    diagnostics.error("contradiction", fmt::format("the total has {} {}, its rows have {}", said, what, added),
                      source.at(total->line, 0), "a row is missing, twice or damaged");
  };
  expect(total->jobs, jobs, "jobs");
  expect(total->gpu_jobs, gpu_jobs, "GPU jobs");
}

}  // namespace

std::vector<ClusterSummary> read_cluster_summaries(const SourceText& source) {
  Diagnostics diagnostics;
  CsvReader rows(source, columns, OtherColumns::allowed, diagnostics);
  std::vector<ClusterSummary> clusters;
  while (rows.next()) {
    const auto jobs = rows.whole_number(job_num, 0, jobs_max);
    const auto cpu_jobs = rows.whole_number(cpu_job_num, 0, jobs_max);
    const auto gpu_jobs = rows.whole_number(gpu_job_num, 0, jobs_max);
    const auto gpus = rows.has(gpu_num) && !rows.field(gpu_num).empty() ? rows.whole_number(gpu_num, 0, jobs_max)
                                                                        : std::optional<std::uint64_t>();
    const auto run = number(rows, avg_run_time_gpu);
    const auto queue = number(rows, avg_que_time_gpu);
    const auto mean_gpus = number(rows, avg_gpu_num);
    const auto gpu_time = sum(number(rows, complete_gpu_time), number(rows, cancel_gpu_time), number(rows, fail_gpu_time));
    const auto rates = sum(number(rows, complete_rate_gpu), number(rows, cancel_rate_gpu), number(rows, fail_rate_gpu));
    if (!jobs || !cpu_jobs || !gpu_jobs) continue;
    if (*cpu_jobs + *gpu_jobs > *jobs) {
      rows.fault(job_num, "contradiction", "there are more jobs of CPUs and GPUs than jobs",
                 "job_num is at least cpu_job_num + gpu_job_num");
    }
    // Each of the three is rounded to a thousandth.
    constexpr double rates_tolerance = 0.0021;
    if (rates && std::abs(*rates - 1) > rates_tolerance) {
      rows.fault(complete_rate_gpu, "contradiction", "the shares of completed, cancelled and failed GPU jobs do not add up to 1",
                 "complete_rate_gpu + cancel_rate_gpu + fail_rate_gpu is 1");
    }
    ClusterSummary row;
    row.id = std::string(rows.field(id));
    row.gpus = gpus;
    row.jobs = *jobs;
    row.cpu_jobs = *cpu_jobs;
    row.gpu_jobs = *gpu_jobs;
    row.mean_run_s = run.value_or(0);
    row.mean_queue_s = queue.value_or(0);
    row.mean_gpus = mean_gpus.value_or(0);
    row.gpu_time_s = gpu_time;
    row.line = rows.line();
    clusters.push_back(std::move(row));
  }
  if (clusters.empty() && !diagnostics.has_errors()) {
    diagnostics.error("no-rows", "the table has no clusters", source.whole_file(), "add a row for each below the header");
  }
  check_total(clusters, source, diagnostics);
  diagnostics.throw_if_errors();
  return clusters;
}

std::string describe_cluster_summaries(const SourceText& source) {
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "%-12s %8s %9s %9s %10s %12s %12s %14s\n", "cluster", "GPUs", "jobs", "GPU jobs",
                "mean GPUs", "mean run s", "mean queue s", "GPU-h");
  std::string text(line.data());
  std::string notes;
  for (const ClusterSummary& row : read_cluster_summaries(source)) {
    const std::string gpus = row.gpus ? fmt::format("{}", *row.gpus) : "";
    std::array<char, 32> gpu_h{};
    if (row.gpu_time_s) std::snprintf(gpu_h.data(), gpu_h.size(), "%.0f", *row.gpu_time_s / 3600);
    std::snprintf(line.data(), line.size(), "%-12.40s %8s %9llu %9llu %10.3f %12.3f %12.3f %14s\n", row.id.c_str(), gpus.c_str(),
                  static_cast<unsigned long long>(row.jobs), static_cast<unsigned long long>(row.gpu_jobs), row.mean_gpus,
                  row.mean_run_s, row.mean_queue_s, gpu_h.data());
    text += line.data();
    if (row.cpu_jobs + row.gpu_jobs < row.jobs) {
      notes += fmt::format("note: {}: {} of {} neither of CPUs nor of GPUs\n", row.id, row.jobs - row.cpu_jobs - row.gpu_jobs,
                           counted(row.jobs, "job is", "jobs are"));
    }
  }
  return text + notes;
}

}  // namespace weft
