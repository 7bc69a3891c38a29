// SPDX-License-Identifier: Apache-2.0
#include "tools/study/study_runner.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "core/check.hpp"
#include "core/engine/parallel_loop.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/out_of_memory.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft {

namespace {

/// The first of several, in a line.
std::string text_of(const InputError& error) {
  const Diagnostic& first = error.diagnostics().front();
  std::string text = first.message + " [" + first.code + "]";
  if (!first.place.file.empty()) text = first.place.file + ": " + text;
  return text;
}

/// None: it was interrupted. Bugs of Weft's own go on as they are.
std::optional<StudyRecord> carry_out(const Study& study, const StudyPoint& point, const StudyOptions& options,
                                     std::uint32_t threads) {
  StudyRecord record;
  try {
    const Scenario scenario = load_scenario(flags_of(study, point));
    MetricSink sink(study.metrics);
    RunOptions simulation;
    simulation.threads = threads;
    simulation.interrupt = options.interrupt;
    const RunSummary summary = finish_run(scenario, sink, simulation).summary;
    if (summary.interrupted) return std::nullopt;
    record.fingerprint = summary.fingerprint;
    record.values = sink.values(summary);
    record.notes = scenario.assumptions;
    record.notes.insert(record.notes.end(), summary.notes.begin(), summary.notes.end());
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

std::uint64_t StudyResult::missing() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(records, [](const auto& record) { return !record; }));
}

StudyResult run_study(const Study& study, const StudyOptions& options) {
  WEFT_CHECK(options.share >= 1 && options.share <= options.shares, "a share is one of all");
  const StudyFolder folder(options.out, study, options.earlier);
  StudyResult result;
  result.points = points_of(study);
  result.records.resize(result.points.size());
  std::vector<std::size_t> to_do;
  StudyProgress progress;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const bool is_own = i % options.shares == options.share - 1;
    result.records[i] = folder.record(i);
    progress.total += is_own ? 1 : 0;
    if (is_own && result.records[i]) ++progress.before;
    if (is_own && result.records[i] && result.records[i]->has_failed()) ++progress.failed;
    if (is_own && !result.records[i]) to_do.push_back(i);
  }
  progress.done = progress.before;

  ParallelLoop loop(options.threads);
  const std::size_t beside = std::max<std::size_t>(1, std::min(loop.workers(), to_do.size()));
  const auto threads_each = static_cast<std::uint32_t>(std::max<std::size_t>(1, loop.workers() / beside));
  std::mutex telling;
  std::exception_ptr failure;
  std::atomic<bool> has_failed = false;
  loop.run(to_do.size(), [&](std::size_t /*worker*/, std::size_t k) {
    if (has_failed || (options.interrupt != nullptr && *options.interrupt)) return;
    const std::size_t number = to_do[k];
    try {
      std::optional<StudyRecord> record = carry_out(study, result.points[number], options, threads_each);
      if (!record) return;
      folder.add(number, *record);
      const std::lock_guard lock(telling);
      ++progress.done;
      progress.failed += record->has_failed() ? 1 : 0;
      result.records[number] = std::move(record);
      if (options.progress) options.progress(progress);
    } catch (...) {
      const std::lock_guard lock(telling);
      if (!failure) failure = std::current_exception();
      has_failed = true;
    }
  });
  if (failure) std::rethrow_exception(failure);
  // Other shares may have come to their ends meanwhile.
  for (std::size_t i = 0; i < result.records.size(); ++i) {
    if (!result.records[i]) result.records[i] = folder.record(i);
  }
  if (result.missing() > 0) return result;
  std::vector<StudyRecord> all;
  for (const std::optional<StudyRecord>& record : result.records) all.push_back(*record);
  folder.write_table(study, result.points, all);
  return result;
}

}  // namespace weft
