// SPDX-License-Identifier: Apache-2.0
#include "workloads/slurm/slurm_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"
#include "workloads/slurm/json_list.hpp"
#include "workloads/slurm/sacct_table.hpp"
#include "workloads/slurm/slurm_text.hpp"

namespace weft {

namespace {

using State = SlurmJob::State;

constexpr std::uint64_t year_minutes = 365 * 24 * 60;

/// What a job says before it is known whether it counts.
struct RawJob {
  SlurmJob job;
  std::vector<std::string> states;  ///< the first is the base state, flags follow
  std::string reason;
  std::string hosts;      ///< a list
  std::string resources;  ///< of the allocation, or else of the request
  std::vector<std::string> details;
  std::string waiting_tasks;  ///< of an array
  std::string group_id;       ///< of a heterogeneous job; "" for others
  bool is_restarted = false;
  bool is_dependent = false;
};

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

/// Reasons for which a job does not wait for GPUs: it is of no use to the scheduler now.
bool is_held_by(const std::string& reason) {
  constexpr std::array reasons = {"Dependency", "DependencyNeverSatisfied", "JobHeldUser", "JobHeldAdmin", "BeginTime"};
  return std::ranges::any_of(reasons, [&](const char* known) { return reason == known; });
}

/// None for a state that is not known.
std::optional<State> state_of(const std::vector<std::string>& states, const std::string& reason) {
  constexpr std::array waiting = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"};
  constexpr std::array running = {"RUNNING", "CONFIGURING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"};
  constexpr std::array ended = {"COMPLETED", "COMPLETING", "FAILED",   "CANCELLED", "TIMEOUT",       "NODE_FAIL",
                                "PREEMPTED", "BOOT_FAIL",  "DEADLINE", "REVOKED",   "OUT_OF_MEMORY", "LAUNCH_FAILED"};
  const auto is_one_of = [](const std::string& state, const auto& known) {
    return std::ranges::any_of(known, [&](const char* name) { return state == name; });
  };
  if (states.empty()) return std::nullopt;
  // Who has ended may still be completing, as a flag beside its state says.
  std::optional<State> found;
  for (const std::string& state : states) {
    if (is_one_of(state, ended)) return State::ended;
    if (!found && is_one_of(state, running)) found = State::runs;
    if (!found && is_one_of(state, waiting)) {
      const bool is_held = is_held_by(reason) || state == "REQUEUE_HOLD" || state == "SPECIAL_EXIT" || state == "RESV_DEL_HOLD";
      found = is_held ? State::held : State::waits;
    }
  }
  return found;
}

class Collector {
 public:
  explicit Collector(DirtyRows& dirty) : dirty_(dirty) {}

  void add(RawJob raw) {
    for (std::string& state : raw.states) state = upper_case(state.substr(0, state.find(' ')));
    const std::optional<State> state = state_of(raw.states, raw.reason);
    if (!state) {
      fault(raw, "unknown-state", fmt::format("job {} has no state that is known: {}", raw.job.id, in_quotes(joined(raw.states))),
            "states are those of `man squeue`, such as RUNNING");
      return;
    }
    SlurmJob& job = raw.job;
    job.state = *state;
    job.state_text = joined(raw.states);
    if (!raw.reason.empty() && raw.reason != "None") job.state_text += fmt::format(" ({})", raw.reason);
    const std::optional<std::uint32_t> gpus = gpus_in_resources(raw.resources);
    if (!gpus) {
      fault(raw, "bad-value", fmt::format("the GPUs of job {} are no number: {}", job.id, in_quotes(raw.resources)),
            "write gres/gpu=8 or gres/gpu:h100=8");
      return;
    }
    if (*gpus == 0) {
      ++all_.without_gpus;
      return;
    }
    job.gpus = *gpus;
    if (job.start && *job.start < job.submit) {
      fault(raw, "start-before-submit", fmt::format("job {} starts before it is submitted", job.id),
            "the start is at or after the submission");
      return;
    }
    if (job.start && job.end && *job.end < *job.start) {
      fault(raw, "end-before-start", fmt::format("job {} ends before it starts", job.id), "the end is at or after the start");
      return;
    }
    if (job.state == State::runs && !job.start) {
      fault(raw, "no-start", fmt::format("job {} runs and has no start", job.id), "give it one, or leave it out");
      return;
    }
    if (job.state == State::runs && !take_shares(raw)) return;
    note_instants(job);
    all_.restarted += raw.is_restarted ? 1 : 0;
    all_.dependent += raw.is_dependent && job.state == State::held ? 1 : 0;
    spread(std::move(raw));
  }

  void see(const Timestamp& instant) { all_.now = std::max(all_.now.value_or(instant), instant); }
  void fault(const RawJob& raw, std::string code, std::string message, std::string help) {
    dirty_.report("", {Severity::error, std::move(code), std::move(message), raw.job.place, std::move(help)});
  }
  SlurmJobs finish() { return std::move(all_); }

 private:
  static std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : "+") + text;
    return all;
  }

  void note_instants(const SlurmJob& job) {
    see(job.submit);
    if (job.start && job.state != State::waits && job.state != State::held) see(*job.start);
    if (job.end) see(*job.end);
  }

  bool take_shares(RawJob& raw) {
    const std::optional<std::vector<std::string>> hosts = parse_host_list(raw.hosts);
    if (!hosts || hosts->empty()) {
      fault(raw, "bad-value", fmt::format("the hosts of job {} are no list: {}", raw.job.id, in_quotes(raw.hosts)),
            "write gpu[001-004,007]");
      return false;
    }
    SlurmJob& job = raw.job;
    for (std::size_t i = 0; i < hosts->size(); ++i) {
      SlurmShare share{(*hosts)[i], {}, {}};
      if (raw.details.size() == hosts->size()) {
        share.gpus = gpus_in_resources(raw.details[i]);
        share.indices = gpu_indices(raw.details[i]);
        if (share.gpus && share.indices.size() != *share.gpus) share.indices.clear();
        // Some versions tell of no GPU where others tell nothing.
        if (share.gpus == 0U) share.gpus.reset();
      }
      if (!share.gpus && hosts->size() == 1) share.gpus = job.gpus;
      job.shares.push_back(std::move(share));
    }
    return true;
  }

  /// One job, or several of an array, or a part of one that is there already.
  void spread(RawJob raw) {
    if (!raw.group_id.empty()) {
      const auto [known, is_new] = first_part_.emplace(raw.group_id, all_.jobs.size());
      if (!is_new) {
        SlurmJob& whole = all_.jobs[known->second];
        whole.gpus += raw.job.gpus;
        whole.shares.insert(whole.shares.end(), raw.job.shares.begin(), raw.job.shares.end());
        ++all_.merged_parts;
        return;
      }
      raw.job.id = raw.group_id;
    }
    if (raw.waiting_tasks.empty()) {
      all_.jobs.push_back(std::move(raw.job));
      return;
    }
    const std::optional<std::vector<std::uint32_t>> tasks = parse_array_tasks(raw.waiting_tasks);
    if (!tasks || tasks->size() > slurm_list_max - std::min<std::uint64_t>(all_.array_tasks, slurm_list_max)) {
      fault(raw, "bad-value", fmt::format("the tasks of array {} are no list: {}", raw.job.id, in_quotes(raw.waiting_tasks)),
            "write 1-5,9%4; at most a million in all");
      return;
    }
    all_.array_tasks += tasks->size();
    for (const std::uint32_t task : *tasks) {
      SlurmJob job = raw.job;
      job.id = fmt::format("{}_{}", raw.job.id, task);
      all_.jobs.push_back(std::move(job));
    }
  }

  DirtyRows& dirty_;
  SlurmJobs all_;
  std::map<std::string, std::size_t> first_part_;  ///< of heterogeneous jobs, in `jobs`
};

std::optional<Timestamp> epoch(std::optional<std::uint64_t> seconds) {
  constexpr std::uint64_t seconds_max = 1'000'000'000'000;
  if (!seconds || *seconds == 0 || *seconds > seconds_max) return std::nullopt;
  return Timestamp{static_cast<std::int64_t>(*seconds), {}};
}

std::optional<Duration> minutes(std::optional<std::uint64_t> number) {
  if (!number || *number == 0 || *number > year_minutes) return std::nullopt;
  return Duration::s(static_cast<std::int64_t>(*number) * 60);
}

/// Resources of a request by host or task, times their number.
std::string times(const std::string& resources, std::uint64_t number) {
  const std::optional<std::uint32_t> gpus = gpus_in_resources(resources);
  return gpus ? fmt::format("gpu:{}", *gpus * std::max<std::uint64_t>(number, 1)) : resources;
}

std::string requested_by_squeue(const JsonEntry& entry) {
  for (const char* field : {"tres_alloc_str", "tres_req_str"}) {
    const std::string said = entry.text(field);
    if (gpus_in_resources(said) != 0U) return said;
  }
  if (const std::string job = entry.text("tres_per_job"); !job.empty()) return job;
  if (const std::string node = entry.text("tres_per_node"); !node.empty())
    return times(node, entry.number("node_count").value_or(1));
  if (const std::string task = entry.text("tres_per_task"); !task.empty()) return times(task, entry.number("tasks").value_or(1));
  return "";
}

bool is_given(const std::string& text) { return !text.empty() && text != "(null)" && text != "0"; }

/// Of an entry that `command` printed with --json; says what is wrong where it has none.
bool read_job_id(const JsonEntry& entry, const char* command, RawJob& raw, Collector& collector) {
  raw.job.line = entry.line();
  raw.job.place = entry.place("job_id");
  const std::optional<std::uint64_t> number = entry.number("job_id");
  if (number) {
    raw.job.id = fmt::to_string(*number);
  } else {
    collector.fault(raw, "missing-field", "this job has no job_id", fmt::format("take what `{} --json` prints", command));
  }
  return number.has_value();
}

void read_squeue_entry(const JsonEntry& entry, Collector& collector) {
  RawJob raw;
  SlurmJob& job = raw.job;
  if (!read_job_id(entry, "squeue", raw, collector)) return;
  const std::string array = entry.text("array_job_id");
  const std::string tasks = entry.text("array_task_string");
  const std::string heterogeneous = entry.text("het_job_id");
  if (is_given(array)) job.id = is_given(tasks) ? array : fmt::format("{}_{}", array, entry.number("array_task_id").value_or(0));
  if (is_given(array) && is_given(tasks)) raw.waiting_tasks = tasks;
  if (is_given(heterogeneous)) raw.group_id = heterogeneous;
  job.name = entry.text("name");
  job.user = entry.text("user_name");
  job.group = entry.text(is_given(entry.text("account")) ? "account" : "partition");
  raw.states = entry.texts("job_state");
  raw.reason = entry.text("state_reason");
  raw.hosts = entry.text("nodes");
  raw.details = entry.texts("gres_detail");
  raw.resources = requested_by_squeue(entry);
  raw.is_restarted = entry.number("restart_cnt").value_or(0) > 0;
  raw.is_dependent = is_given(entry.text("dependency"));
  const std::optional<Timestamp> submit = epoch(entry.number("submit_time"));
  if (!submit) {
    job.place = entry.place("submit_time");
    collector.fault(raw, "bad-value", fmt::format("job {} has no submit_time", job.id), "seconds since 1970");
    return;
  }
  job.submit = *submit;
  job.time_limit = minutes(entry.number("time_limit"));
  job.priority = entry.number("priority").value_or(0);
  for (const char* field : {"last_sched_evaluation", "pre_sus_time", "accrue_time"}) {
    if (const std::optional<Timestamp> instant = epoch(entry.number(field))) collector.see(*instant);
  }
  // Of jobs that wait, these are what Slurm expects.
  std::vector<std::string> states = raw.states;
  for (std::string& state : states) state = upper_case(state);
  const std::optional<State> state = state_of(states, raw.reason);
  if (state == State::runs || state == State::ended) job.start = epoch(entry.number("start_time"));
  if (state == State::ended) job.end = epoch(entry.number("end_time"));
  collector.add(std::move(raw));
}

std::string resources_of_list(const JsonEntry& entry, std::string_view path) {
  std::string all;
  for (const JsonEntry& resource : entry.entries(path)) {
    if (resource.text("type") != "gres") continue;
    all += fmt::format("{}gres/{}={}", all.empty() ? "" : ",", resource.text("name"), resource.text("count"));
  }
  return all;
}

void read_sacct_entry(const JsonEntry& entry, Collector& collector) {
  RawJob raw;
  SlurmJob& job = raw.job;
  if (!read_job_id(entry, "sacct", raw, collector)) return;
  const std::string array = entry.text("array/job_id");
  const std::string tasks = entry.text("array/task");
  const std::string heterogeneous = entry.text("het/job_id");
  if (is_given(array)) {
    const std::optional<std::uint64_t> task = entry.number("array/task_id");
    job.id = is_given(tasks) || !task ? array : fmt::format("{}_{}", array, *task);
    if (is_given(tasks)) raw.waiting_tasks = tasks;
  }
  if (is_given(heterogeneous)) raw.group_id = heterogeneous;
  job.name = entry.text("name");
  job.user = entry.text("user");
  job.group = entry.text(is_given(entry.text("account")) ? "account" : "partition");
  raw.states = entry.texts("state/current");
  raw.reason = entry.text("state/reason");
  raw.hosts = entry.text("nodes");
  raw.resources = resources_of_list(entry, "tres/allocated");
  if (gpus_in_resources(raw.resources) == 0U) raw.resources = resources_of_list(entry, "tres/requested");
  raw.is_restarted = entry.number("restart_cnt").value_or(0) > 0;
  const std::optional<Timestamp> submit = epoch(entry.number("time/submission"));
  if (!submit) {
    job.place = entry.place("time");
    collector.fault(raw, "bad-value", fmt::format("job {} has no time of submission", job.id), "seconds since 1970");
    return;
  }
  job.submit = *submit;
  job.time_limit = minutes(entry.number("time/limit"));
  job.priority = entry.number("priority").value_or(0);
  job.start = epoch(entry.number("time/start"));
  job.end = epoch(entry.number("time/end"));
  if (job.start && !job.end) {
    if (const auto elapsed = entry.number("time/elapsed"); elapsed && *elapsed < year_minutes * 60)
      collector.see({job.start->seconds + static_cast<std::int64_t>(*elapsed), {}});
  }
  collector.add(std::move(raw));
}

}  // namespace

SlurmJobs read_squeue_jobs(const SourceText& source, DirtyRows& dirty) {
  const JsonList list(source, "jobs", "squeue --json");
  Collector collector(dirty);
  for (const JsonEntry& entry : list.entries()) read_squeue_entry(entry, collector);
  return collector.finish();
}

SlurmJobs read_sacct_jobs(const SourceText& source, const TimeZone& zone, DirtyRows& dirty) {
  Collector collector(dirty);
  const std::size_t first = source.text().find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && source.text()[first] == '{') {
    const JsonList list(source, "jobs", "sacct --json");
    for (const JsonEntry& entry : list.entries()) read_sacct_entry(entry, collector);
    return collector.finish();
  }
  SacctTable table(source, zone, dirty);
  while (const std::optional<SacctRow> row = table.next()) {
    RawJob raw;
    raw.job = row->job;
    raw.states = {row->state};
    raw.reason = row->reason;
    raw.hosts = row->hosts;
    raw.resources = row->resources;
    raw.waiting_tasks = row->waiting_tasks;
    raw.group_id = row->group_id;
    raw.is_restarted = row->is_restarted;
    if (row->now) collector.see(*row->now);
    collector.add(std::move(raw));
  }
  return collector.finish();
}

}  // namespace weft
