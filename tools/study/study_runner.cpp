// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study_runner.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "core/check.hpp"
#include "core/engine/parallel_loop.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/manifest.hpp"
#include "core/text/out_of_memory.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/study/study_projection.hpp"
#include "tools/study/study_stop.hpp"

namespace weft {

namespace {

/// The first of several, in a line.
std::string text_of(const InputError& error) {
  const Diagnostic& first = error.diagnostics().front();
  std::string text = first.message + " [" + first.code + "]";
  if (!first.place.file.empty()) text = first.place.file + ": " + text;
  return text;
}

/// Of this process, which has carried out one run.
MachineFigures machine_figures_of(const RunSummary& summary, double load_wall_time_s) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  constexpr double kib = 1024;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return {.load_wall_time_s = load_wall_time_s,
          .run_wall_time_s = summary.run_wall_time_s,
          .cpu_time_s = seconds(used.ru_utime) + seconds(used.ru_stime),
          .events_per_s = summary.run_wall_time_s > 0 ? static_cast<double>(summary.events) / summary.run_wall_time_s : 0,
          .peak_memory_bytes = kib * static_cast<double>(used.ru_maxrss)};
}

/// None: it was interrupted. Bugs of Weft's own go on as they are.
std::optional<StudyRecord> carry_out(const Study& study, const StudyPoint& point, const StudyOptions& options,
                                     std::uint32_t threads) {
  StudyRecord record;
  try {
    RunOptions simulation;
    simulation.threads = threads;
    simulation.interrupt = options.interrupt;
    if (study.projection) {
      ProjectedPoint projected = project_point(study, flags_of(study, point), SiteFigures::Simulated::yes, simulation);
      if (options.interrupt != nullptr && *options.interrupt) return std::nullopt;
      record.fingerprint = std::move(projected.fingerprint);
      record.values = std::move(projected.values);
      record.notes = std::move(projected.notes);
      return record;
    }
    const auto begin = std::chrono::steady_clock::now();
    const Scenario scenario = load_scenario(flags_of(study, point));
    const std::chrono::duration<double> loaded = std::chrono::steady_clock::now() - begin;
    std::optional<PricedTopology> prices;
    std::string no_prices;
    if (study.prices && scenario.topology) {
      try {
        prices = priced(*scenario.topology, *study.prices);
      } catch (const InputError& error) {
        no_prices = "no cost and no watts: " + error.diagnostics().front().message;
      }
    }
    MetricSink sink(study.metrics);
    const RunSummary summary = finish_run(scenario, sink, simulation).summary;
    if (summary.interrupted) return std::nullopt;
    record.fingerprint = summary.fingerprint;
    record.values = sink.values(summary, machine_figures_of(summary, loaded.count()), prices);
    record.inputs = scenario.manifest.input_hashes();
    record.notes = scenario.assumptions;
    record.notes.insert(record.notes.end(), summary.notes.begin(), summary.notes.end());
    if (!no_prices.empty()) record.notes.push_back(std::move(no_prices));
  } catch (const InputError& error) {
    record.error = text_of(error);
  } catch (const OverflowFailure& failure) {
    record.error = std::string(failure.what()) + " [beyond-clock]";
  } catch (const OutOfMemory& failure) {
    record.error = failure.what();
  } catch (const std::bad_alloc&) {
    record.error = "out of memory";
  }
  return record;
}

}  // namespace

std::uint64_t StudyResult::failed() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(records, [](const auto& record) { return record && record->has_failed(); }));
}

std::uint64_t StudyResult::missing() const { return static_cast<std::uint64_t>(std::ranges::count(counts, true)) - ended(); }

std::uint64_t StudyResult::ended() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(records, [](const auto& record) { return record.has_value(); }));
}

namespace {

/// "" of a file that is not there any more.
std::string hash_of(const std::string& path) {
  try {
    RunManifest manifest;
    manifest.add_input("", path, "");
    return manifest.input_hashes().front().second;
  } catch (const InputError&) {
    return "";
  }
}

class Runner {
 public:
  Runner(const Study& study, const StudyOptions& options)
      : study_(study),
        options_(options),
        begun_(std::chrono::steady_clock::now()),
        folder_(options.out, study, options.earlier),
        loop_(options.threads) {}

  StudyResult run() {
    result_.points = points_of(study_);
    result_.records.resize(result_.points.size());
    look_for_records();
    drop_what_was_changed();
    progress_.is_total_known = !study_.stop;
    NeededRuns needed = needed_runs(study_, result_.records, is_own());
    for (std::size_t i = 0; i < result_.records.size(); ++i) {
      if (!needed.counts[i] || !result_.records[i]) continue;
      ++progress_.before;
      progress_.failed += result_.records[i]->has_failed() ? 1 : 0;
    }
    progress_.done = progress_.before;
    while (!options_.only_collects && !needed.missing.empty() && !is_over()) {
      progress_.total = needed.runs_max;
      if (study_.measures_machine && result_.points.size() > 1 && options_.shares < result_.points.size()) {
        carry_out_alone(needed.missing);
      } else {
        carry_out_all(with_guesses(needed.missing));
      }
      needed = needed_runs(study_, result_.records, is_own());
    }
    // Other shares may have come to their ends meanwhile.
    look_for_records();
    result_.counts = needed_runs(study_, result_.records, [](std::size_t /*run*/) { return true; }).counts;
    for (std::size_t i = 0; i < result_.records.size(); ++i) {
      if (!result_.counts[i]) result_.records[i].reset();
    }
    if (result_.missing() == 0 || (result_.is_out_of_time && result_.ended() > 0))
      folder_.write_table(study_, result_.points, result_.records);
    return std::move(result_);
  }

 private:
  void look_for_records() {
    for (std::size_t i = 0; i < result_.records.size(); ++i) {
      if (!result_.records[i]) result_.records[i] = folder_.record(i);
    }
  }

  /// Runs whose inputs are others by now are carried out again; what the first point reads is the
  /// study's own and known not to have changed.
  void drop_what_was_changed() {
    std::map<std::string, std::string> hashes;
    for (std::optional<StudyRecord>& record : result_.records) {
      if (!record) continue;
      const auto is_changed = [&](const std::pair<std::string, std::string>& input) {
        const auto [known, is_new] = hashes.try_emplace(input.first);
        if (is_new) known->second = hash_of(input.first);
        return known->second != input.second;
      };
      if (std::ranges::none_of(record->inputs, is_changed)) continue;
      record.reset();
      ++result_.repeated;
    }
  }

  std::function<bool(std::size_t)> is_own() const {
    return [this](std::size_t run) { return share_of(study_, run, options_.shares) == options_.share; };
  }

  bool is_interrupted() const { return options_.interrupt != nullptr && *options_.interrupt; }

  bool is_over() {
    if (options_.time_limit.count() > 0 && std::chrono::steady_clock::now() - begun_ >= options_.time_limit)
      result_.is_out_of_time = true;
    return result_.is_out_of_time || is_interrupted();
  }

  /// Threads without a run take the next ones of these points.
  std::vector<std::size_t> with_guesses(std::vector<std::size_t> runs) const {
    const std::size_t certain = runs.size();
    for (std::uint32_t ahead = 1; study_.stop && ahead < study_.replicates; ++ahead) {
      for (std::size_t k = 0; k < certain && runs.size() < loop_.workers(); ++k) {
        const std::size_t run = runs[k] + ahead;
        if (run / study_.replicates != runs[k] / study_.replicates || result_.records[run]) continue;
        if (std::ranges::find(runs, run) == runs.end()) runs.push_back(run);
      }
    }
    return runs;
  }

  void carry_out_all(const std::vector<std::size_t>& runs) {
    const std::size_t beside = std::max<std::size_t>(1, std::min(loop_.workers(), runs.size()));
    const auto threads_each = static_cast<std::uint32_t>(std::max<std::size_t>(1, loop_.workers() / beside));
    std::exception_ptr failure;
    std::atomic<bool> has_failed = false;
    loop_.run(runs.size(), [&](std::size_t /*worker*/, std::size_t k) {
      try {
        {
          const std::lock_guard lock(telling_);
          if (has_failed || is_over()) return;
        }
        std::optional<StudyRecord> record = carry_out(study_, result_.points[runs[k]], options_, threads_each);
        if (!record) return;
        folder_.add(runs[k], *record);
        const std::lock_guard lock(telling_);
        ++progress_.done;
        progress_.failed += record->has_failed() ? 1 : 0;
        result_.records[runs[k]] = std::move(record);
        if (options_.progress) options_.progress(progress_);
      } catch (...) {
        const std::lock_guard lock(telling_);
        if (!failure) failure = std::current_exception();
        has_failed = true;
      }
    });
    if (failure) std::rethrow_exception(failure);
  }

  void carry_out_alone(const std::vector<std::size_t>& runs) {
    for (const std::size_t run : runs) {
      if (is_over()) return;
      const std::string end = options_.run_alone(run, result_.points.size());
      result_.records[run] = folder_.record(run);
      if (!result_.records[run]) {
        if (is_interrupted()) return;
        result_.records[run] = StudyRecord{.error = end, .fingerprint = {}, .values = {}, .notes = {}, .inputs = {}};
        folder_.add(run, *result_.records[run]);
      }
      ++progress_.done;
      progress_.failed += result_.records[run]->has_failed() ? 1 : 0;
      if (options_.progress) options_.progress(progress_);
    }
  }

  const Study& study_;
  const StudyOptions& options_;
  const std::chrono::steady_clock::time_point begun_;
  const StudyFolder folder_;
  ParallelLoop loop_;
  StudyProgress progress_;
  std::mutex telling_;
  StudyResult result_;
};

}  // namespace

std::uint32_t share_of(const Study& study, std::size_t run, std::uint32_t shares) {
  const std::size_t together = study.stop ? study.replicates : 1;
  return static_cast<std::uint32_t>(run / together % shares) + 1;
}

StudyResult run_study(const Study& study, const StudyOptions& options) {
  WEFT_CHECK(options.share >= 1 && options.share <= options.shares, "a share is one of all");
  if (study.measures_machine && !options.run_alone) {
    fail("bad-value", "runs of a study that measures the machine are processes of their own", SourcePlace::named(study.file),
         "weft study carries it out");
  }
  if (options.shares > 1 && study.stop && study.stop->runs > 0) {
    fail("bad-value", "a budget of runs is dealt to all points in turn, and a share does not know of the others",
         SourcePlace::named(study.file), "drop stop { runs: }, or carry out the study as a whole");
  }
  return Runner(study, options).run();
}

}  // namespace weft
