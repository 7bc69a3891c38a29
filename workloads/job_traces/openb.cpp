// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/openb.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/csv_reader.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

enum Column : std::size_t { name, num_gpu, gpu_milli, gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time };
constexpr std::array columns = {
    CsvColumn{"name"},          CsvColumn{"num_gpu"},          CsvColumn{"gpu_milli", false}, CsvColumn{"gpu_spec", false},
    CsvColumn{"qos", false},    CsvColumn{"pod_phase", false}, CsvColumn{"creation_time"},    CsvColumn{"deletion_time"},
    CsvColumn{"scheduled_time"}};
constexpr std::uint64_t whole_gpu = 1000;

std::string pods(std::uint64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", counted(count, "pod", "pods"), count == 1 ? one : several);
}

class OpenbReader {
 public:
  OpenbReader(const SourceText& source, const JobTraceOptions& options)
      : builder_(source, options.strict),
        rows_(source, columns, OtherColumns::allowed, builder_.diagnostics(), &builder_.dirty()) {}

  JobTrace read() {
    while (rows_.next()) read_row();
    if (sharing_ > 0) {
      std::array<char, 96> figures{};
      std::snprintf(figures.data(), figures.size(), " (%.6g GPU-h instead of %.6g)", whole_gpu_s_ / 3600, shared_gpu_s_ / 3600);
      builder_.assume(fmt::format("{} for a share of a GPU (gpu_milli below 1000) and holds a whole one{}",
                                  pods(sharing_, "asks", "ask"), figures.data()));
    }
    if (picky_ > 0) builder_.assume(fmt::format("{} a GPU type (gpu_spec); any GPU is taken", pods(picky_, "names", "name")));
    if (running_at_last_ > 1) {
      builder_.assume(fmt::format(
          "{} pods in phase Running end together at the last deletion_time: taken as cut off there by the end of the recording",
          running_at_last_));
    }
    return builder_.finish();
  }

 private:
  void read_row() {
    const auto gpus = TraceBuilder::gpus(rows_, num_gpu);
    if (!gpus) return;
    if (rows_.field(name).empty()) rows_.fault(name, "bad-value", "this pod has no name", "give it a unique one");
    if (!rows_.is_given(scheduled_time)) {
      rows_.fault(scheduled_time, "never-started", "this pod was never scheduled", "leave the row out");
    } else if (!rows_.is_given(deletion_time)) {
      rows_.fault(deletion_time, "still-running", "this pod had not ended when the trace was taken", "leave the row out");
    }
    const auto share =
        rows_.is_given(gpu_milli) ? rows_.whole_number(gpu_milli, 0, whole_gpu) : std::optional<std::uint64_t>(whole_gpu);
    if (rows_.is_dirty() || !share) return;
    const auto created = TraceBuilder::instant(rows_, creation_time, "s");
    const auto scheduled = TraceBuilder::instant(rows_, scheduled_time, "s");
    const auto deleted = TraceBuilder::instant(rows_, deletion_time, "s");
    if (!created || !scheduled || !deleted) return;
    if (*scheduled < *created) {
      rows_.fault(scheduled_time, "start-before-submit", "this pod is scheduled before it is created",
                  "scheduled_time is at or after creation_time");
    } else if (*deleted < *scheduled) {
      rows_.fault(deletion_time, "end-before-start", "this pod is deleted before it is scheduled",
                  "deletion_time is at or after scheduled_time");
    }
    if (rows_.is_dirty()) return;
    const std::optional<Duration> took = TraceBuilder::within_a_year(rows_, deletion_time, *created, *deleted);
    if (!took) return;
    TraceJob job;
    job.name = std::string(rows_.field(name));
    if (rows_.is_given(qos)) job.group = std::string(rows_.field(qos));
    job.run = *between(*scheduled, *deleted);
    job.gpus = *gpus;
    job.line = rows_.line();
    job.real = RecordedRun{*between(*created, *scheduled), *took};
    count(job, *share, *deleted);
    builder_.add(std::move(job), *created);
  }

  void count(const TraceJob& job, std::uint64_t share, const Timestamp& deleted) {
    if (job.gpus == 1 && share < whole_gpu) {
      ++sharing_;
      whole_gpu_s_ += job.run.in_s();
      shared_gpu_s_ += job.run.in_s() * static_cast<double>(share) / whole_gpu;
    }
    if (rows_.is_given(gpu_spec)) ++picky_;
    if (deleted > last_deletion_) {
      last_deletion_ = deleted;
      running_at_last_ = 0;
    }
    if (deleted == last_deletion_ && rows_.has(pod_phase) && rows_.field(pod_phase) == "Running") ++running_at_last_;
  }

  TraceBuilder builder_;
  CsvReader rows_;
  std::uint64_t sharing_ = 0;
  double whole_gpu_s_ = 0;
  double shared_gpu_s_ = 0;
  std::uint64_t picky_ = 0;
  Timestamp last_deletion_;
  std::uint64_t running_at_last_ = 0;
};

}  // namespace

JobTrace read_openb(const SourceText& source, const JobTraceOptions& options) { return OpenbReader(source, options).read(); }

}  // namespace weft
