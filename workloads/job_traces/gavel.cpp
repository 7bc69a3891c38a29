// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/gavel.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/about_option.hpp"
#include "core/text/counted.hpp"
#include "core/text/csv_reader.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/dag/limits.hpp"
#include "workloads/job_traces/trace_builder.hpp"
#include "workloads/measurements/gavel_throughputs.hpp"

namespace weft {

namespace {

/// Fields counted from the end of a line, where the traces agree.
enum Field : std::size_t { arrival = 1, slo, priority_weight, scale_factor, total_steps, needs_data_dir };

class GavelReader {
 public:
  GavelReader(const SourceText& source, const JobTraceOptions& options)
      : source_(source), options_(options), gpu_type_(options.gpu_type), builder_(source, options.strict) {
    source.require_utf8_text("Gavel trace");
    if (options.throughputs_path.empty()) return;
    throughputs_ = GavelThroughputs::read(SourceText::read(options.throughputs_path));
    about_option("gpu_type",
                 [&] { throughputs_->require_gpu_type(gpu_type_, SourcePlace::named(options.names("gpu_type", gpu_type_))); });
  }

  JobTrace read() {
    for (std::size_t number = 1; number <= source_.line_count(); ++number) {
      line_ = static_cast<int>(number);
      if (source_.line(number).find_first_not_of(" \t") != std::string_view::npos) read_line();
    }
    builder_.trace().has_run_times = throughputs_.has_value();
    if (throughputs_) note_throughputs();
    return builder_.finish();
  }

 private:
  std::string_view field(Field which) const { return fields_[fields_.size() - which]; }

  void split() {
    fields_.clear();
    for (std::string_view rest = source_.line(static_cast<std::size_t>(line_));;) {
      const std::size_t tab = rest.find('\t');
      fields_.push_back(rest.substr(0, tab));
      if (tab == std::string_view::npos) return;
      rest.remove_prefix(tab + 1);
    }
  }

  SourcePlace place(std::string_view text) const {
    const auto offset = static_cast<int>(text.data() - source_.line(static_cast<std::size_t>(line_)).data());
    return source_.at(line_, offset + 1, std::max(1, static_cast<int>(text.size())));
  }

  void fault(std::string_view name, Field which, std::string code, std::string message, std::string help) {
    builder_.dirty().report(name, {Severity::error, std::move(code), std::move(message), place(field(which)), std::move(help)});
  }

  std::optional<std::uint64_t> whole_number(std::string_view name, Field which, std::uint64_t maximum) {
    const std::string_view text = field(which);
    const auto value = plain_number<std::uint64_t>(without_zero_fraction(text));
    if (value && *value <= maximum) return value;
    fault(name, which, "bad-value", fmt::format("{} is no whole number up to {}: \"{}\"", name, maximum, text),
          "write digits only, like 8");
    return std::nullopt;
  }

  std::optional<Timestamp> arrival_time() {
    const std::string_view text = field(arrival);
    const std::optional<Timestamp> value = parse_instant(text, "s");
    if (value && value->seconds >= 0) return value;
    fault("arrival", arrival, "bad-value", fmt::format("the arrival is no number of seconds: \"{}\"", text),
          "write a plain number, like 536 or 0.5");
    return std::nullopt;
  }

  void read_line() {
    split();
    if (fields_.size() != 9 && fields_.size() != 10) {
      builder_.dirty().report(
          "",
          {Severity::error, "wrong-field-count",
           fmt::format("this line has {}, a job of Gavel 10, or 9 without directory", counted(fields_.size(), "field", "fields")),
           source_.at(line_, 0),
           "job type, command, [directory,] steps flag, needs data, steps, scale factor, weight, SLO, arrival, "
           "separated by tabs"});
      return;
    }
    const auto submit = arrival_time();
    const auto gpus = whole_number("scale factor", scale_factor, workload_rank_count_max);
    const auto steps = whole_number("total steps", total_steps, UINT64_MAX);
    if (!submit || !gpus || !steps) return;
    if (*gpus == 0)
      return fault("scale factor", scale_factor, "no-gpus", "this job has no GPU", "only jobs with GPUs are simulated");
    if (*steps == 0) return fault("total steps", total_steps, "bad-value", "this job has no steps", "give it at least one");
    TraceJob job;
    job.name = "job" + fmt::to_string(line_);
    job.model = std::string(fields_.front());
    job.gpus = static_cast<std::uint32_t>(*gpus);
    job.iterations = *steps;
    job.line = line_;
    if (throughputs_ && !take_run_time(job)) return;
    builder_.add(std::move(job), *submit);
  }

  bool take_run_time(TraceJob& job) {
    const std::optional<double> rate = throughputs_->steps_per_s(gpu_type_, job.model, job.gpus);
    if (!rate) {
      report_unknown(job);
      return false;
    }
    if (*rate == 0) {
      report_stopped(job, "");
      return false;
    }
    const auto [known, is_new] = times_.try_emplace({job.model, job.gpus});
    if (is_new) {
      if (auto times = throughputs_->placement_times(gpu_type_, job.model, job.gpus)) {
        known->second = std::make_shared<PlacementTimes>(std::move(*times));
      }
    }
    if (known->second == nullptr) {
      report_stopped(job, " with its GPUs on several hosts");
      return false;
    }
    const double seconds = static_cast<double>(job.iterations) / *rate;
    const double longest_s = static_cast<double>(job.iterations) * known->second->longest(job.gpus).in_s();
    if (!(std::max(seconds, longest_s) <= op_duration_max.in_s())) {
      fault("total steps", total_steps, "out-of-range", "this job runs for more than a year",
            fmt::format("at most {}", to_text(op_duration_max)));
      return false;
    }
    job.run = Duration::from_seconds(seconds);
    job.iteration_times = known->second;
    return true;
  }

  void note_throughputs() {
    std::uint64_t several_gpus = 0;
    std::uint64_t not_spread = 0;
    for (const TraceJob& job : builder_.trace().jobs) {
      if (job.gpus < 2) continue;
      ++several_gpus;
      if (!throughputs_->steps_per_s_spread(gpu_type_, job.model, job.gpus)) ++not_spread;
    }
    std::string text = fmt::format("run times are steps over the throughput measured on {}, the GPUs to themselves", gpu_type_);
    if (several_gpus > 0) text += " and, until a run places them, on one host";
    builder_.assume(text);
    if (several_gpus > not_spread) {
      builder_.assume(fmt::format(
          "{} of several GPUs: a run that places {} on several hosts takes the throughput of {}_unconsolidated",
          counted(several_gpus - not_spread, "job", "jobs"), several_gpus - not_spread == 1 ? "it" : "them", gpu_type_));
    }
    if (not_spread > 0) {
      builder_.assume(fmt::format("{} of several GPUs: not measured on several hosts, where {} as long as on one",
                                  counted(not_spread, "job", "jobs"), not_spread == 1 ? "it takes" : "they take"));
    }
  }

  void report_stopped(const TraceJob& job, std::string_view when) {
    builder_.dirty().report(
        "job type", {Severity::error, "does-not-run",
                     fmt::format("\"{}\" does not run on {}{}: its throughput is 0", job.model, gpu_type_, when),
                     place(fields_.front()), fmt::format("choose another {}, or leave the job out", options_.names("gpu_type"))});
  }

  void report_unknown(const TraceJob& job) {
    std::string counts;
    for (const std::uint32_t gpus : throughputs_->gpu_counts(gpu_type_, job.model)) {
      counts += fmt::format("{}{}", counts.empty() ? "" : ", ", gpus);
    }
    const std::string what = counts.empty() ? fmt::format("no job type \"{}\"", job.model)
                                            : fmt::format("\"{}\" not with a scale factor of {}", job.model, job.gpus);
    builder_.dirty().report(counts.empty() ? "job type" : "scale factor",
                            {Severity::error, "unknown-job-type",
                             fmt::format("{} has {} on {}", throughputs_->file(), what, gpu_type_), place(fields_.front()),
                             counts.empty() ? suggestion(job.model, throughputs_->job_types(gpu_type_), "job type")
                                            : fmt::format("it was measured with {}", counts)});
  }

  const SourceText& source_;
  const JobTraceOptions& options_;
  std::string gpu_type_;
  TraceBuilder builder_;
  std::optional<GavelThroughputs> throughputs_;
  /// By job type and GPUs.
  std::map<std::pair<std::string, std::uint32_t>, std::shared_ptr<const PlacementTimes>> times_;
  int line_ = 0;
  std::vector<std::string_view> fields_;
};

}  // namespace

JobTrace read_gavel(const SourceText& source, const JobTraceOptions& options) { return GavelReader(source, options).read(); }

}  // namespace weft
