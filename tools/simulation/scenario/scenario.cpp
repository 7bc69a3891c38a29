#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/scenario/input_kind.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "core/text/counted.hpp"
#include "core/text/out_of_memory.hpp"
#include "core/text/source_text.hpp"
#include "core/text/textproto.hpp"
#include "core/text/textproto_settings.hpp"
#include "core/text/version.hpp"
#include "scheduler/failures/fleet.hpp"
#include "scheduler/failures/network_parts.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"
#include "tools/simulation/iteration_probe.hpp"
#include "tools/simulation/scenario.pb.h"
#include "tools/simulation/scenario/event_entries.hpp"
#include "tools/simulation/scenario/host_speed_entries.hpp"
#include "tools/simulation/scenario/job_rules.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"
#include "tools/simulation/scenario/unused_flags.hpp"
#include "tools/simulation/scenario/unused_settings.hpp"
#include "topologies/builders.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/formats/hpcc/hpcc_flows.hpp"
#include "workloads/formats/workload_reader.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"
#include "workloads/measurements/gavel_throughputs.hpp"
#include "workloads/measurements/pollux_placements.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft {

namespace {

/// Paths in a scenario are relative to its folder.
std::string relative_to(const std::string& scenario_file, const std::string& path) {
  const std::filesystem::path given(path);
  if (given.is_absolute()) return path;
  return (std::filesystem::path(scenario_file).parent_path() / given).string();
}

std::string flag_of(const google::protobuf::FieldDescriptor& field) {
  std::string flag = "--" + field.name();
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

/// Does `text` hold `flag` at `position`, and not a longer one?
bool has_flag_at(const std::string& text, std::size_t position, const std::string& flag) {
  if (text.compare(position, flag.size(), flag) != 0) return false;
  const std::size_t end = position + flag.size();
  return end == text.size() || (std::isalnum(static_cast<unsigned char>(text[end])) == 0 && text[end] != '-');
}

/// Readers of foreign files name the flags that would help; in a scenario the same options are fields of the message that names the file.
std::string with_fields(std::string text, const google::protobuf::Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (field.is_repeated()) continue;
    const std::string flag = flag_of(field);
    for (std::size_t at = text.find(flag); at != std::string::npos; at = text.find(flag, at + 1)) {
      if (!has_flag_at(text, at, flag)) continue;
      const bool has_value = at + flag.size() < text.size() && text[at + flag.size()] == '=';
      text.replace(at, flag.size() + (has_value ? 1 : 0), field.name() + (has_value ? ": " : ""));
    }
  }
  return text;
}

/// Reads each workload file once however many jobs run it.
class WorkloadShelf {
 public:
  explicit WorkloadShelf(Scenario& scenario) : scenario_(scenario) {}

  std::shared_ptr<const Workload> get(const std::string& path, const std::string& format, const WorkloadOptions& options) {
    for (const WorkloadFile& entry : scenario_.workload_files) {
      if (entry.path == path && entry.format == format && entry.options == options) return entry.workload;
    }
    const auto workload = std::make_shared<const Workload>(load_workload(path, format, options));
    take_in(workload, path);
    if (!options.process_groups_path.empty()) {
      scenario_.manifest.add_input("process groups", options.process_groups_path, "json");
    }
    for (const std::string& input : workload_files(path, format)) scenario_.manifest.add_input("workload", input, format);
    scenario_.workload_files.push_back({path, format, options, workload});
    return workload;
  }

  /// The same for a template, whose parameters say all about it.
  std::shared_ptr<const Workload> get(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place) {
    Made& made = make(module, params, place);
    if (!made.is_taken) take_in(made.workload, params.module());
    made.is_taken = true;
    return made.workload;
  }

  /// How many ranks the template makes, whether or not a job runs it.
  std::uint32_t rank_count(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place) {
    return make(module, params, place).workload->rank_count;
  }

 private:
  struct Made {
    std::shared_ptr<const Workload> workload;
    bool is_taken = false;  ///< into the scenario
  };

  Made& make(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place) {
    std::string key = params.module();
    for (std::size_t i = 0; i < params.table().size(); ++i) key += "\n" + params.value_text(i);
    const auto known = made_.find(key);
    if (known != made_.end()) return known->second;
    return made_[key] = {std::make_shared<const Workload>(module.make(params, place))};
  }

  void take_in(const std::shared_ptr<const Workload>& workload, const std::string& name) {
    Diagnostics diagnostics;
    check_workload(*workload, SourcePlace::named(name), diagnostics);
    diagnostics.throw_if_errors();
    for (const std::string& assumption : workload->assumptions) scenario_.assumptions.push_back(name + ": " + assumption);
    scenario_.workloads.push_back(workload);
  }

  Scenario& scenario_;
  std::map<std::string, Made> made_;
};

/// What is not at its default, for the manifest.
void note_options(const WorkloadOptions& options, RunManifest& manifest) {
  if (options.ranks) manifest.set("ranks", std::uint64_t{*options.ranks});
  if (options.iteration) manifest.set("iteration", std::uint64_t{*options.iteration});
  if (!options.time_unit.empty()) manifest.set("time_unit", options.time_unit);
  if (options.collectives_as_recorded) manifest.set("as_recorded", std::uint64_t{1});
}

void load_topology_file(Scenario& scenario, const std::string& path, const std::string& format) {
  scenario.topology = load_topology(path, format);
  for (const std::string& assumption : scenario.topology->assumptions()) scenario.assumptions.push_back(path + ": " + assumption);
  scenario.manifest.add_input("topology", path, format);
}

/// What a trace left open, for the notes of the run and its manifest.
void note_trace(Scenario& scenario, const JobTrace& trace, const std::string& path, const JobTraceOptions& options) {
  for (const std::string& note : trace.notes()) scenario.assumptions.push_back(path + ": " + note);
  if (!options.throughputs_path.empty()) scenario.manifest.add_input("throughputs", options.throughputs_path, "gavel-throughputs");
  if (!options.gpu_type.empty()) scenario.manifest.set("gpu_type", options.gpu_type);
  if (!options.time_zone.empty()) scenario.manifest.set("time_zone", options.time_zone);
}

/// GPUs on each host of a job's placement on the empty cluster; nothing if there is none.
std::vector<std::uint32_t> placement_alone(const Scenario& scenario, std::uint32_t gpus) {
  const ClusterState cluster = serving_cluster(scenario);
  std::map<HostId, std::uint32_t> gpus_of_host;
  if (gpus > 0 && gpus <= cluster.gpu_count()) {
    const std::optional<Placement> placement = make_placer(scenario)->place(cluster, gpus);
    if (placement) {
      for (const GpuSlot gpu : placement->gpus) ++gpus_of_host[cluster.host_of(gpu)];
    }
  }
  std::vector<std::uint32_t> counts;
  for (const auto& [host, count] : gpus_of_host) counts.push_back(count);
  return counts;
}

/// `place` is where the trace was named.
JobTrace read_trace(Scenario& scenario, const std::string& path, const std::string& format, const JobTraceOptions& options,
                    bool has_rules, const SourcePlace& place) {
  JobTrace trace = load_job_trace(path, format, options);
  scenario.manifest.add_input("jobs", path, format);
  note_trace(scenario, trace, path, options);
  if (!trace.has_run_times && !has_rules) {
    fail("no-run-times", "the trace has iterations but no run times", place,
         "add --throughputs=FILE --gpu-type=NAME, or give each job a workload or measured iterations by rules in a scenario");
  }
  if (scenario.name.empty()) scenario.name = trace.name;
  return trace;
}

std::vector<JobSpec> jobs_under_rules(Scenario& scenario, const JobTrace& trace, const std::string& path,
                                      const std::vector<JobRule>& rules, Probing probing) {
  ClusterProbes probes;
  probes.has_network = scenario.topology != nullptr;
  if (probing == Probing::allowed) {
    probes.iteration = [&scenario](const std::shared_ptr<const Workload>& workload, const SourcePlace& place) {
      return probe_iteration(scenario, workload, place);
    };
  }
  probes.placement = [&scenario](std::uint32_t gpus) { return placement_alone(scenario, gpus); };
  return jobs_by_rule(trace, path, rules, scenario.mode, probes, scenario.assumptions);
}

/// Leaves most of the clock's 2.9 years for the jobs themselves.
const Duration submit_max = Duration::s(366LL * 86'400);

/// A job trace that was read, and what its jobs run.
struct TraceUnderRules {
  JobTrace trace;
  std::string path;
  std::vector<JobRule> rules;
};

/// The trace from whose first submission all dated ones count: that of the earliest; null if none has a date.
const TraceUnderRules* earliest_of(const std::vector<TraceUnderRules>& traces) {
  const TraceUnderRules* earliest = nullptr;
  for (const TraceUnderRules& one : traces) {
    if (one.trace.origin && (earliest == nullptr || *one.trace.origin < *earliest->trace.origin)) earliest = &one;
  }
  return earliest;
}

/// Dated traces of one run keep their distance in time. Those of clocks of their own begin at 0, each.
void share_origin(Scenario& scenario, std::vector<TraceUnderRules>& traces) {
  const TraceUnderRules* const earliest = earliest_of(traces);
  std::string origin = earliest == nullptr ? "" : earliest->trace.origin_of_time;
  std::uint64_t left_out = 0;
  for (TraceUnderRules& one : traces) {
    JobTrace& trace = one.trace;
    left_out += trace.left_out_rows;
    if (&one == earliest) continue;
    if (!trace.origin) {
      const std::string of_trace = traces.size() == 1 ? trace.origin_of_time : one.path + ": " + trace.origin_of_time;
      origin += (origin.empty() ? "" : "; ") + of_trace;
      if (earliest == nullptr) continue;
      scenario.assumptions.push_back(one.path + ": its clock has no date: it begins together with " + earliest->path);
      continue;
    }
    const std::optional<Duration> later = between(*earliest->trace.origin, *trace.origin);
    if (!later || *later > submit_max - trace.jobs.back().submit) {
      fail("out-of-range", "the last job is submitted more than a year after the first of " + earliest->path,
           SourcePlace::named(one.path),
           "dated traces of one run keep their distance: run these one by one, or write one in format weft, whose submit_s has no "
           "date, and they begin together");
    }
    for (TraceJob& job : trace.jobs) job.submit += *later;
    scenario.assumptions.push_back(
        one.path + ": " + (*later == Duration::zero() ? "it begins together with " : "it begins " + to_text(*later) + " after ") +
        earliest->path + ", as their dates say");
  }
  scenario.manifest.set("jobs_origin_of_time", origin);
  scenario.manifest.set("jobs_rows_left_out", left_out);
}

/// A run on its way from file and flags.
struct Loading {
  const RunFlags& flags;
  Scenario& scenario;
  WorkloadShelf& shelf;
  std::vector<TraceUnderRules> traces = {};
  Diagnostics diagnostics = {};
  std::set<std::string> caught = {};  ///< texts of what attempt() added to them
  bool is_place_good = true;          ///< whether topology or cluster, where given, could be read
};

/// Runs one step of loading; was nothing wrong? What was is kept, each mistake once, so that all steps are tried.
template <class Step>
bool attempt(Loading& loading, const Step& step) {
  try {
    step();
    return true;
  } catch (const InputError& error) {
    for (const Diagnostic& found : error.diagnostics()) {
      if (loading.caught.insert(found.to_text()).second) loading.diagnostics.add(found);
    }
    return false;
  }
}

void require_mode(const Scenario& scenario, Mode mode, const std::string& name, const SourcePlace& place) {
  if (may_be_in(mode, scenario.mode)) return;
  fail("job-mode",
       "job " + in_quotes(name) + " asks for " + std::string(to_text(mode)) + " mode in a run in " +
           std::string(to_text(scenario.mode)) + " mode",
       place, other_mode_hint);
}

class ScenarioFile {
 public:
  /// Throws what keeps the file from being parsed.
  explicit ScenarioFile(Loading& loading)
      : loading_(loading),
        scenario_(loading.scenario),
        path_(loading.flags.scenario_file),
        source_(SourceText::read(path_)),
        document_(source_, message_, loading.diagnostics) {
    loading.diagnostics.throw_if_errors();
  }

  /// Requires: the cluster is known.
  std::vector<HostSpeedEntry> host_speeds() const {
    if (message_.host_speed_size() == 0) return {};
    if (scenario_.flows) {
      fail("unused-field", "host_speed is of what hosts compute, and a flow list is nothing but transfers", place_of("host_speed"),
           "drop it, or --flows");
    }
    return read_host_speeds(message_, document_.places(), empty_cluster(scenario_).host_count());
  }

  /// Requires: the cluster, its failures and drains are known.
  void read_events() const {
    if (message_.event_size() + message_.handler_size() == 0) return;
    if (scenario_.flows) {
      fail("unused-field", "events and handlers say something about jobs, and a flow list has none",
           place_of(message_.event_size() > 0 ? "event" : "handler"), "drop them, or --flows");
    }
    std::vector<std::string> names;
    for (const JobSpec& job : scenario_.jobs) names.push_back(job.name);
    for (const TraceUnderRules& one : loading_.traces) {
      for (const TraceJob& job : one.trace.jobs) names.push_back(job.name);
    }
    const std::vector<std::string> submitted(names.begin() + message_.job_size(),
                                             names.begin() + static_cast<std::ptrdiff_t>(own_jobs_.size()));
    weft::read_events(message_, document_.places(), names, submitted, scenario_);
  }

  /// Everything but what rules make of the jobs of traces.
  void fill() {
    const FieldPlaces places = document_.places();
    scenario_.manifest.add_input("scenario", path_, "weft");
    scenario_.name = message_.name().empty() ? std::filesystem::path(path_).stem().string() : message_.name();
    if (message_.has_seed()) scenario_.seed = message_.seed();
    // Parameters first: whoever reads one later finds what the flags made of it.
    const Module<TopologyFactory>* builder = nullptr;
    loading_.is_place_good = try_to([&] { builder = choose_builder(places); });
    for (int i = 0; i < message_.handler_size(); ++i) {
      try_to([&] { add_handler(message_.handler(i), places.of(message_, "handler", i), places.inside(message_, "handler", i)); });
    }
    for_each_setting(
        message_, places, loading_.diagnostics, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
          scenario_.parameters.apply(name, scenario_.parameters.is_file(name) ? relative_to(path_, value) : value, place);
        });
    try_to([&] { scenario_.parameters.apply_flags(loading_.flags.settings); });
    scenario_.parameters.fill_in_preset();
    // With --topology what stands here is not used.
    const bool has_place = loading_.flags.topology.empty();
    if (has_place) loading_.is_place_good = loading_.is_place_good && try_to([&] { fill_place(builder, places); });
    if (message_.has_scheduler()) fill_scheduler(places.inside(message_, "scheduler"));
    fill_jobs(places);
    for (int i = 0; i < message_.jobs_size(); ++i) {
      try_to([&] { read_jobs(message_.jobs(i), places.of(message_, "jobs", i), places.inside(message_, "jobs", i)); });
    }
    const bool is_of_workloads = (scenario_.topology != nullptr || !has_place) && has_workloads();
    scenario_.mode = has_mode() ? mode_of(message_.mode()) : is_of_workloads ? Mode::flow : Mode::job;
  }

  /// Results tell jobs apart by name. To be called when the jobs of flags are there, too.
  void check_names() {
    std::map<std::string_view, std::size_t> own;
    for (std::size_t i = 0; i < own_jobs_.size(); ++i) own.emplace(scenario_.jobs[i].name, i);
    const auto refuse = [&](const std::string& name, const std::string& other) {
      const auto known = own.find(name);
      if (known == own.end()) return;
      loading_.diagnostics.error("duplicate-job", "there are two jobs " + in_quotes(name), own_jobs_[known->second].name,
                                 "the other is " + other + "; results tell jobs apart by name: give this one a name of its own");
      own.erase(known);
    };
    for (std::size_t i = own_jobs_.size(); i < scenario_.jobs.size(); ++i) refuse(scenario_.jobs[i].name, "that of --workload");
    for (const TraceUnderRules& one : loading_.traces) {
      for (const TraceJob& job : one.trace.jobs) refuse(job.name, "at line " + std::to_string(job.line) + " of " + one.path);
    }
  }

  /// Whether the i-th of the scenario's jobs is one of the file's that says mode: JOB.
  bool is_in_job_mode(std::size_t i) const { return i < own_jobs_.size() && own_jobs_[i].message->mode() == scenario::JOB; }

  /// Of jobs with a mode of their own. Requires: that of the run is known.
  void take_modes() {
    for (std::size_t i = 0; i < own_jobs_.size(); ++i) {
      const OwnJob& own = own_jobs_[i];
      if (own.message->mode() == scenario::MODE_UNSPECIFIED || own.message->mode() == scenario::JOB) continue;
      scenario_.jobs[i].is_in_flow_mode = scenario_.mode == Mode::packet && own.message->mode() == scenario::FLOW;
      attempt(loading_, [&] {
        require_mode(scenario_, mode_of(own.message->mode()), scenario_.jobs[i].name, own.inside.of(*own.message, "mode"));
      });
      if (own.message->has_workload()) continue;
      loading_.diagnostics.error("job-mode", "job " + in_quotes(scenario_.jobs[i].name) + " has a duration, and uses no network",
                                 own.inside.of(*own.message, "mode"), "drop mode, or the duration for a workload");
    }
  }

  /// Gives jobs that run their workload in job mode a duration. Requires: everything else is known, and nothing is wrong.
  void run_in_job_mode(Probing probing) {
    for (std::size_t i = 0; i < own_jobs_.size(); ++i) {
      JobSpec& spec = scenario_.jobs[i];
      if (!is_in_job_mode(i) || spec.workload == nullptr) continue;
      const OwnJob& own = own_jobs_[i];
      attempt(loading_, [&] { give_duration(spec, *own.message, own.inside, probing); });
    }
    loading_.diagnostics.throw_if_errors();
  }

  bool has_mode() const { return message_.mode() != scenario::MODE_UNSPECIFIED; }
  bool has_jobs() const {
    return message_.job_size() > 0 || message_.jobs_size() > 0 ||
           std::any_of(message_.event().begin(), message_.event().end(), [](const auto& event) { return event.has_submit(); });
  }
  bool has_scheduler() const { return message_.has_scheduler(); }

  /// Of a field at the top level; the whole file if it was not written.
  SourcePlace place_of(const std::string& field) const { return document_.places().of(message_, field); }

 private:
  /// Requires: it is one.
  static Mode mode_of(scenario::Mode mode) {
    return mode == scenario::JOB ? Mode::job : mode == scenario::FLOW ? Mode::flow : Mode::packet;
  }

  template <class Step>
  bool try_to(const Step& step) {
    return attempt(loading_, step);
  }

  static void require(bool condition, std::string code, std::string message, SourcePlace place, std::string help) {
    if (!condition) fail(std::move(code), std::move(message), std::move(place), std::move(help));
  }

  /// Reads a file that `message` names: where the message itself is wrong, what the reader says is said of its fields.
  template <class Read>
  auto read(const google::protobuf::Message& message, const FieldPlaces& places, const Read& read_file) {
    const std::size_t known = scenario_.assumptions.size();
    try {
      auto content = read_file();
      for (std::size_t i = known; i < scenario_.assumptions.size(); ++i) {
        scenario_.assumptions[i] = with_fields(std::move(scenario_.assumptions[i]), message);
      }
      return content;
    } catch (const InputError& error) {
      std::vector<Diagnostic> diagnostics;
      for (Diagnostic diagnostic : error.diagnostics()) {
        const std::string culprit = diagnostic.place.line > 0 ? "" : culprit_of(diagnostic, message);
        if (!culprit.empty()) {
          if (is_unreadable(diagnostic)) diagnostic.message = diagnostic.place.file + ": " + diagnostic.message;
          diagnostic.place = places.of(message, culprit);
        }
        if (diagnostic.code == "unused-flag") diagnostic.code = "unused-field";
        diagnostic.message = with_fields(std::move(diagnostic.message), message);
        diagnostic.help = with_fields(std::move(diagnostic.help), message);
        diagnostics.push_back(std::move(diagnostic));
      }
      throw InputError(std::move(diagnostics));
    }
  }

  static bool is_unreadable(const Diagnostic& diagnostic) {
    return diagnostic.code == "no-file" || diagnostic.code == "is-directory" || diagnostic.code == "unreadable";
  }

  /// The field of `message` that a reader complains about; "" where it complains about what the file holds.
  std::string culprit_of(const Diagnostic& diagnostic, const google::protobuf::Message& message) const {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const google::protobuf::FieldDescriptor& field = *message.GetDescriptor()->field(i);
      if (field.is_repeated() || !message.GetReflection()->HasField(message, &field)) continue;
      const std::string flag = flag_of(field);
      if (has_flag_at(diagnostic.place.file, 0, flag) || has_flag_at(diagnostic.message, 0, flag)) return field.name();
      const bool is_text = field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
      const std::string text = is_text ? message.GetReflection()->GetString(message, &field) : "";
      if (is_unreadable(diagnostic) && is_text && relative_to(path_, text) == diagnostic.place.file) return field.name();
      if (diagnostic.code == "unknown-format" && field.name() == "format") return field.name();
    }
    return "";
  }

  WorkloadOptions options_of(const scenario::Workload& workload) const {
    WorkloadOptions options;
    if (workload.has_ranks()) options.ranks = workload.ranks();
    if (workload.has_iteration()) options.iteration = workload.iteration();
    if (!workload.process_groups().empty()) options.process_groups_path = relative_to(path_, workload.process_groups());
    options.time_unit = workload.time_unit();
    options.collectives_as_recorded = workload.as_recorded();
    return options;
  }

  JobTraceOptions options_of(const scenario::JobTrace& trace) const {
    JobTraceOptions options;
    options.strict = trace.strict() || loading_.flags.jobs_options.strict;
    options.time_zone = trace.time_zone();
    if (!trace.throughputs().empty()) options.throughputs_path = relative_to(path_, trace.throughputs());
    options.gpu_type = trace.gpu_type();
    return options;
  }

  /// The parameters of a module as the `set`s of a message say.
  template <class Message>
  static ParamSet params_of(const ModuleInfo& module, const Message& message, const FieldPlaces& places) {
    ParamSet params(std::string(module.name), module.params);
    Diagnostics diagnostics;
    for_each_setting(
        message, places, diagnostics,
        [&](const std::string& name, const std::string& value, const SourcePlace& place) { params.set(name, value, place); });
    diagnostics.throw_if_errors();
    return params;
  }

  /// Whether the fields of a workload go together.
  void check_workload_fields(const scenario::Workload& workload, const SourcePlace& place, const FieldPlaces& places) const {
    if (!workload.template_().empty()) {
      const bool is_alone = workload.file().empty() && workload.format().empty() && options_of(workload) == WorkloadOptions();
      require(is_alone, "workload-source", "a template is no file and takes nothing but its parameters", place,
              "give template: and set { name: \"...\" value: \"...\" }, or file: and what belongs to it");
      return;
    }
    require(workload.set_size() == 0, "workload-source", "set says something about a template, which is not given", place,
            "add template: \"llm\"; `weft modules template` lists them");
    require(!workload.file().empty(), "missing-field", "a workload needs a file or a template", place,
            "file: \"my.textproto\" or template: \"llm\"");
    require(!workload.has_ranks() || workload.ranks() > 0, "out-of-range", "a workload has at least one rank",
            places.of(workload, "ranks"), "give a number above 0, or drop it");
  }

  std::shared_ptr<const Workload> make(const scenario::Workload& workload, const SourcePlace& place, const FieldPlaces& places,
                                       std::optional<std::uint32_t> ranks) {
    const SourcePlace name_place = places.of(workload, "template");
    const auto& module = find_module(workload_templates(), workload.template_(), name_place);
    auto made = loading_.shelf.get(module, params_of(module.info, workload, places), name_place);
    require(!ranks || made->rank_count == *ranks, "rank-count-mismatch",
            "template " + workload.template_() + " makes " + counted(made->rank_count, "rank", "ranks") +
                ", jobs that the rule matches have " + counted(ranks.value_or(0), "GPU", "GPUs"),
            place, "limit the rule to jobs with as many GPUs as the workload has ranks, like gpus: \"8\"");
    return made;
  }

  std::shared_ptr<const Workload> load(const scenario::Workload& workload, const SourcePlace& place, const FieldPlaces& places,
                                       std::optional<std::uint32_t> ranks) {
    check_workload_fields(workload, place, places);
    if (!workload.template_().empty()) return make(workload, place, places, ranks);
    WorkloadOptions options = options_of(workload);
    if (ranks && !options.ranks) options.ranks = ranks;
    try {
      return read(workload, places,
                  [&] { return loading_.shelf.get(relative_to(path_, workload.file()), workload.format(), options); });
    } catch (const InputError& error) {
      if (!ranks || error.diagnostics().front().code != "rank-conflict") throw;
      fail("rank-count-mismatch",
           workload.file() + " cannot run on the " + counted(*ranks, "GPU", "GPUs") + " of jobs that the rule matches", place,
           "limit the rule to jobs with as many GPUs as the workload has ranks, like gpus: \"8\"");
    }
  }

  void read_jobs(const scenario::JobTrace& trace, const SourcePlace& place, const FieldPlaces& inside) {
    TraceUnderRules one;
    for (int r = 0; r < trace.rule_size(); ++r) {
      try_to([&] { one.rules.push_back(rule_of(trace.rule(r), inside.of(trace, "rule", r), inside.inside(trace, "rule", r))); });
    }
    require(!trace.file().empty(), "missing-field", "a job trace needs a file", place, "file: \"jobs.csv\"");
    require(!trace.format().empty(), "missing-field", "a job trace needs a format", inside.of(trace, "file"),
            "format: \"weft\"; `weft modules job-format` lists them");
    one.path = relative_to(path_, trace.file());
    one.trace = read(trace, inside, [&] {
      return read_trace(scenario_, one.path, trace.format(), options_of(trace), trace.rule_size() > 0, inside.of(trace, "file"));
    });
    loading_.traces.push_back(std::move(one));
  }

  JobRule rule_of(const scenario::JobRule& said, const SourcePlace& place, const FieldPlaces& places) {
    JobRule rule;
    rule.place = place;
    const bool has_range = try_to([&] { read_gpu_range(said.gpus(), places.of(said, "gpus"), rule); });
    rule.name = said.name();
    rule.group = said.group();
    rule.model = said.model();
    try_to([&] { rule.iterations = iterations_of(said, places).value_or(0); });
    try_to([&] { rule.samples_per_iteration = samples_of(said, places); });
    StorageEntry stored = read_storage_entry(said, places);
    rule.data = stored.data;
    rule.data_hosts = std::move(stored.data_hosts);
    rule.checkpoint = stored.checkpoint;
    const bool runs_nothing = !said.has_workload() && !said.has_measured_iteration();
    const bool only_stores = runs_nothing && (said.has_data() || !said.checkpoint_size().empty()) && !said.has_iterations() &&
                             !said.has_samples_per_iteration() && said.mode() == scenario::MODE_UNSPECIFIED;
    require(said.has_workload() != said.has_measured_iteration() || only_stores, "rule-content",
            "a rule gives either a workload or measured iterations", place,
            "workload { file: \"...\" }, or measured_iteration { file: \"...\" format: \"pollux\" }");
    if (said.mode() != scenario::MODE_UNSPECIFIED) rule.mode = mode_of(said.mode());
    rule.mode_place = places.of(said, "mode");
    if (!said.iteration_time().empty()) try_to([&] { rule.iteration_time = iteration_time_of(said, places); });
    if (said.has_workload()) {
      const scenario::Workload& workload = said.workload();
      const SourcePlace workload_place = places.of(said, "workload");
      const FieldPlaces inside = places.inside(said, "workload");
      check_workload_fields(workload, workload_place, inside);
      if (!workload.template_().empty()) {
        const std::uint32_t ranks = template_ranks(workload, inside);
        require(!has_range || (rule.gpus_min <= ranks && ranks <= rule.gpus_max), "rank-count-mismatch",
                "template " + workload.template_() + " makes " + counted(ranks, "rank", "ranks") +
                    ", and the rule matches no job with as many GPUs",
                workload_place,
                "say gpus: \"" + std::to_string(ranks) + "\", or make a workload of as many ranks as the jobs have GPUs");
      } else {
        require_files(workload, inside);
      }
      rule.workload_name = workload.file().empty() ? workload.template_() : workload.file();
      rule.workload = [this, &workload, workload_place, inside](std::uint32_t gpus) {
        return load(workload, workload_place, inside, gpus);
      };
    } else if (!runs_nothing) {
      rule.measured =
          measured_of(said.measured_iteration(), places.inside(said, "measured_iteration"), places.of(said, "measured_iteration"));
    }
    return rule;
  }

  /// Job mode reads no workload, and the others only those of rules that a job matches, but all of them have to be there.
  void require_files(const scenario::Workload& workload, const FieldPlaces& places) {
    read(workload, places, [&] {
      std::vector<std::string> files = workload_files(relative_to(path_, workload.file()), workload.format());
      for (const std::string& file : files) {
        // Reading it says in what way it is missing.
        if (!std::filesystem::exists(file)) SourceText::read(file);
      }
      return files;
    });
  }

  /// The same of templates.
  std::uint32_t template_ranks(const scenario::Workload& workload, const FieldPlaces& places) {
    const SourcePlace place = places.of(workload, "template");
    const auto& module = find_module(workload_templates(), workload.template_(), place);
    return loading_.shelf.rank_count(module, params_of(module.info, workload, places), place);
  }

  template <class Message>
  static std::optional<std::uint64_t> iterations_of(const Message& message, const FieldPlaces& places) {
    if (!message.has_iterations()) return std::nullopt;
    require(message.iterations() > 0, "no-iterations", "0 iterations run nothing", places.of(message, "iterations"),
            "give at least one, or drop it");
    return message.iterations();
  }

  /// 0 if it does not say.
  template <class Message>
  static std::uint64_t samples_of(const Message& message, const FieldPlaces& places) {
    if (!message.has_samples_per_iteration()) return 0;
    require(message.samples_per_iteration() > 0, "out-of-range", "samples_per_iteration: an iteration is worth a sample at least",
            places.of(message, "samples_per_iteration"), "give at least one, or drop it");
    return message.samples_per_iteration();
  }

  static Duration iteration_time_of(const scenario::JobRule& said, const FieldPlaces& places) {
    const SourcePlace place = places.of(said, "iteration_time");
    require(said.has_workload(), "rule-content", "measured iterations bring their time along", place, "drop iteration_time");
    require(!said.has_iterations() || said.mode() == scenario::JOB, "rule-content",
            "iteration_time is for rules that do not say how many iterations run", place, "drop iteration_time or iterations");
    const ParsedQuantity<Duration> time = parse_duration(said.iteration_time());
    if (!time.value) fail("bad-value", "iteration_time: " + time.error.message, place, time.error.help);
    require(*time.value > Duration::zero(), "out-of-range", "iteration_time: no number of iterations of 0s fits a run time", place,
            "give a time above 0, or say how many iterations run");
    return *time.value;
  }

  std::unique_ptr<MeasuredIterations> measured_of(const scenario::MeasuredIteration& said, const FieldPlaces& places,
                                                  const SourcePlace& place) {
    require(!said.file().empty(), "missing-field", "measured iterations need a file", place, "file: \"placements.csv\"");
    const std::string file = relative_to(path_, said.file());
    const std::array<std::string, 2> formats = {"pollux", "gavel-throughputs"};
    require(said.format() == formats[0] || said.format() == formats[1], "unknown-format",
            "there is no format of iteration times \"" + said.format() + "\"",
            said.format().empty() ? place : places.of(said, "format"), suggestion(said.format(), formats, "format"));
    if (said.format() == formats[1]) {
      require(!said.has_local_batch_size(), "unused-field", "a table of throughputs has no batch sizes of its own",
              places.of(said, "local_batch_size"), "drop it: the job type says the batch size");
      GavelThroughputs table = read(said, places, [&] { return GavelThroughputs::read(SourceText::read(file)); });
      scenario_.manifest.add_input("measured iterations", file, said.format());
      return measured_by_job_type(std::move(table), said.gpu_type(), said.gpu_type().empty() ? place : places.of(said, "gpu_type"));
    }
    require(said.gpu_type().empty(), "unused-field", "a table of placements has no GPU types", places.of(said, "gpu_type"),
            "drop it");
    const PolluxPlacements table = read(said, places, [&] { return PolluxPlacements::read(SourceText::read(file)); });
    scenario_.manifest.add_input("measured iterations", file, said.format());
    const std::vector<std::uint32_t> sizes = table.batch_sizes();
    const bool is_only = !said.has_local_batch_size() && sizes.size() == 1;
    const std::uint32_t size = is_only ? sizes.front() : said.local_batch_size();
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
      std::string known;
      for (const std::uint32_t s : sizes) known += (known.empty() ? "" : ", ") + std::to_string(s);
      fail("unknown-batch-size",
           said.has_local_batch_size() ? file + " has no local batch size " + std::to_string(size)
                                       : file + " has several batch sizes, and none is named",
           said.has_local_batch_size() ? places.of(said, "local_batch_size") : place, "local_batch_size is one of " + known);
    }
    return measured_for_all(table.of_batch_size(size), file);
  }

  bool has_workloads() const {
    const auto has_one = [](const auto& message) { return message.has_workload(); };
    return std::any_of(message_.job().begin(), message_.job().end(), has_one) ||
           std::any_of(
               message_.jobs().begin(), message_.jobs().end(),
               [&](const scenario::JobTrace& trace) { return std::any_of(trace.rule().begin(), trace.rule().end(), has_one); }) ||
           std::any_of(message_.event().begin(), message_.event().end(),
                       [](const scenario::Event& event) { return event.submit().job().has_workload(); });
  }

  void add_handler(const scenario::Handler& said, const SourcePlace& place, const FieldPlaces& inside) {
    require(!said.name().empty(), "missing-field", "a handler needs a name", place,
            "for example name: \"drain_repeat_offenders\"; `weft modules handler` lists them");
    const auto& module = find_module(event_handlers(), said.name(), inside.of(said, "name"));
    const auto known = std::find(scenario_.handlers.begin(), scenario_.handlers.end(), said.name());
    require(known == scenario_.handlers.end(), "duplicate-handler", "there are two handlers " + in_quotes(said.name()),
            inside.of(said, "name"), "keep one of the two");
    scenario_.handlers.push_back(said.name());
    scenario_.parameters.add(params_of(module.info, said, inside));
  }

  /// The builder of the topology, whose parameters join those of the run; null if there is none.
  const Module<TopologyFactory>* choose_builder(const FieldPlaces& places) {
    const scenario::Topology& topology = message_.topology();
    if (topology.builder().empty()) return nullptr;
    const FieldPlaces inside = places.inside(message_, "topology");
    const auto& module = find_module(topology_builders(), topology.builder(), inside.of(topology, "builder"));
    scenario_.parameters.add(params_of(module.info, topology, inside));
    return &module;
  }

  void fill_place(const Module<TopologyFactory>* builder, const FieldPlaces& places) {
    const SourcePlace cluster_place = places.of(message_, "cluster");
    require(!message_.has_topology() || !message_.has_cluster(), "topology-and-cluster",
            "a scenario has a topology or a cluster, not both", cluster_place,
            "drop the cluster: the topology's hosts are the cluster");
    if (message_.has_topology()) fill_topology(builder, places.of(message_, "topology"), places.inside(message_, "topology"));
    if (message_.has_cluster()) {
      const scenario::Cluster& cluster = message_.cluster();
      require(cluster.hosts() > 0 && cluster.gpus_per_host() > 0, "empty-cluster", "a cluster needs hosts and gpus_per_host",
              cluster_place, "for example cluster { hosts: 8 gpus_per_host: 8 }");
      scenario_.hosts = cluster.hosts();
      scenario_.gpus_per_host = cluster.gpus_per_host();
    }
  }

  void fill_topology(const Module<TopologyFactory>* builder, const SourcePlace& place, const FieldPlaces& inside) {
    const scenario::Topology& topology = message_.topology();
    require((builder != nullptr) != !topology.file().empty(), "topology-source",
            "a topology is either built by name or read from a file", place,
            "give one of builder: \"fat_tree\" and file: \"my.textproto\"");
    if (builder != nullptr) {
      require(topology.format().empty(), "unused-field", "a format is of a topology's file, and this one has a builder",
              inside.of(topology, "format"), "drop it");
      scenario_.topology = builder->make(scenario_.parameters.of(builder->info.name), inside.of(topology, "builder"));
      return;
    }
    require(topology.set_size() == 0, "unused-field", "set says something about a builder, which is not given",
            inside.of(topology, "set"), "drop it, or give builder: \"...\" instead of the file");
    const bool is_textproto = topology.file().ends_with(".textproto") || topology.file().ends_with(".textproto.gz");
    require(is_textproto || !topology.format().empty(), "missing-field", "the format of this topology is not given",
            inside.of(topology, "file"),
            "add format: \"...\"; `weft modules topology-format` lists them, and only *.textproto files are known by their ending");
    read(topology, inside, [&] {
      load_topology_file(scenario_, relative_to(path_, topology.file()), topology.format());
      return true;
    });
  }

  void fill_scheduler(const FieldPlaces& inside) {
    const scenario::Scheduler& scheduler = message_.scheduler();
    if (!scheduler.policy().empty()) {
      try_to([&] {
        scenario_.policy = find_module(scheduling_policies(), scheduler.policy(), inside.of(scheduler, "policy")).info.name;
      });
    }
    if (!scheduler.placement().empty()) {
      try_to([&] {
        scenario_.placement = find_module(placers(), scheduler.placement(), inside.of(scheduler, "placement")).info.name;
      });
    }
  }

  void fill_jobs(const FieldPlaces& places) {
    std::map<std::string, int> lines;
    for (int i = 0; i < message_.job_size(); ++i) {
      const FieldPlaces inside = places.inside(message_, "job", i);
      fill_job(message_.job(i), places.of(message_, "job", i), inside, lines, [&] { return submit_of(message_.job(i), inside); });
    }
    for (int i = 0; i < message_.event_size(); ++i) {
      const scenario::Event& event = message_.event(i);
      if (!event.has_submit()) continue;
      const FieldPlaces inside = places.inside(message_, "event", i);
      const bool has_job = try_to([&] {
        require(event.submit().has_job(), "missing-field", "there is no job to submit", inside.of(event, "submit"),
                "submit { job { name: \"urgent\" gpus: 8 duration: \"2h\" } }");
      });
      if (!has_job) continue;
      const FieldPlaces inside_submit = inside.inside(event, "submit");
      const scenario::Job& job = event.submit().job();
      const FieldPlaces inside_job = inside_submit.inside(event.submit(), "job");
      fill_job(job, inside_submit.of(event.submit(), "job"), inside_job, lines, [&] {
        require(job.submit().empty(), "unused-field", "the job is submitted when the event happens", inside_job.of(job, "submit"),
                "drop submit");
        return time_of(event, inside, places.of(message_, "event", i));
      });
    }
  }

  /// `lines`: of the jobs before it, by name. `submit` returns when it is submitted.
  template <class Submit>
  void fill_job(const scenario::Job& job, const SourcePlace& place, const FieldPlaces& inside, std::map<std::string, int>& lines,
                const Submit& submit) {
    JobSpec spec;
    spec.name = job.name().empty() ? "job" + std::to_string(scenario_.jobs.size()) : job.name();
    spec.group = job.group();
    spec.priority = job.priority();
    if (job.has_data_region()) spec.data_region = job.data_region();
    spec.place = place;
    const SourcePlace name_place = job.name().empty() ? place : inside.of(job, "name");
    const auto [first, is_new] = lines.emplace(spec.name, spec.place.line);
    if (!is_new) {
      loading_.diagnostics.error("duplicate-job", "there are two jobs " + in_quotes(spec.name), name_place,
                                 "the first is at line " + std::to_string(first->second) + "; results tell jobs apart by name");
    }
    try_to([&] { spec.submit = submit(); });
    try_to([&] { fill_content(spec, job, inside); });
    if (job.has_elastic()) try_to([&] { fill_elastic(spec, job, inside); });
    try_to([&] {
      StorageEntry stored = read_storage_entry(job, inside);
      spec.data = stored.data;
      spec.data_hosts = std::move(stored.data_hosts);
      spec.checkpoint = stored.checkpoint;
    });
    own_jobs_.push_back({&job, inside, name_place});
    scenario_.jobs.push_back(std::move(spec));
  }

  static Time submit_of(const scenario::Job& job, const FieldPlaces& inside) {
    if (job.submit().empty()) return Time::zero();
    const ParsedQuantity<Duration> submit = parse_duration(job.submit());
    if (!submit.value) fail("bad-value", "submit: " + submit.error.message, inside.of(job, "submit"), submit.error.help);
    require(*submit.value <= submit_max, "out-of-range", "submit: " + job.submit() + " is too late", inside.of(job, "submit"),
            "jobs are submitted within the first 366 days");
    return Time::zero() + *submit.value;
  }

  /// What the job runs, and on how many GPUs.
  void fill_content(JobSpec& spec, const scenario::Job& job, const FieldPlaces& inside) {
    std::optional<std::uint64_t> iterations;
    try_to([&] { iterations = iterations_of(job, inside); });
    try_to([&] { spec.samples_per_iteration = samples_of(job, inside); });
    try_to([&] {
      require(!job.has_gpus() || job.gpus() > 0, "no-gpus", "a job needs at least one GPU", inside.of(job, "gpus"),
              job.has_workload() ? "drop it to give the job one GPU per rank" : "for example gpus: 8");
    });
    require(job.has_workload() != !job.duration().empty(), "job-content", "a job has either a workload or a duration", spec.place,
            "workload { file: \"...\" } for flow or packet mode, duration: \"2h\" for job mode");
    if (job.has_workload()) {
      if (!job.iteration_time().empty()) try_to([&] { check_iteration_time(job, inside); });
      spec.workload = load(job.workload(), inside.of(job, "workload"), inside.inside(job, "workload"), std::nullopt);
      spec.gpus = job.has_gpus() ? job.gpus() : spec.workload->rank_count;
      spec.iterations = iterations.value_or(1);
    } else {
      if (!job.iteration_time().empty()) try_to([&] { check_iteration_time(job, inside); });
      try_to([&] { spec.duration = DurationModel::parse(job.duration(), inside.of(job, "duration")); });
      require(job.has_gpus(), "missing-field", "a job needs gpus", spec.place, "for example gpus: 8");
      spec.gpus = job.gpus();
      spec.iterations = iterations.value_or(0);
      require(spec.iterations > 0 || spec.samples_per_iteration == 0, "job-content",
              "samples_per_iteration is for jobs that have iterations", inside.of(job, "samples_per_iteration"),
              "say how many: iterations: 1000, or drop samples_per_iteration");
    }
  }

  /// With what it may restart.
  void fill_elastic(JobSpec& spec, const scenario::Job& job, const FieldPlaces& inside) {
    const scenario::Elastic& elastic = job.elastic();
    const SourcePlace place = inside.of(job, "elastic");
    const FieldPlaces inside_elastic = inside.inside(job, "elastic");
    const bool runs_workload = job.has_workload() && job.mode() != scenario::JOB;
    require(runs_workload ? elastic.workload_size() > 0 && elastic.min_gpus() == 0
                          : elastic.workload_size() == 0 && elastic.min_gpus() > 0,
            "elastic-content",
            runs_workload ? "a job with a workload restarts with smaller workloads"
                          : "a job that holds its GPUs for a time restarts on min_gpus or more",
            place,
            runs_workload ? "elastic { workload { file: \"...\" } }, or mode: JOB with elastic { min_gpus: 4 }"
                          : "elastic { min_gpus: 4 }");
    spec.min_gpus = elastic.min_gpus();
    for (int i = 0; i < elastic.workload_size(); ++i) {
      const SourcePlace workload_place = inside_elastic.of(elastic, "workload", i);
      spec.smaller_workloads.push_back(
          load(elastic.workload(i), workload_place, inside_elastic.inside(elastic, "workload", i), std::nullopt));
    }
  }

  /// Of a job that runs its workload in job mode.
  void give_duration(JobSpec& spec, const scenario::Job& job, const FieldPlaces& inside, Probing probing) {
    const std::shared_ptr<const Workload> workload = std::move(spec.workload);
    spec.workload = nullptr;
    require(workload->rank_count == spec.gpus, "rank-count-mismatch",
            "job " + in_quotes(spec.name) + " has " + counted(spec.gpus, "GPU", "GPUs") + " for the " +
                counted(workload->rank_count, "rank", "ranks") + " of workload " + in_quotes(workload->name),
            spec.place, "give the job one GPU per rank");
    Duration iteration;
    std::string origin = "as the scenario says";
    if (!job.iteration_time().empty()) {
      iteration = *parse_duration(job.iteration_time()).value;
    } else if (scenario_.topology == nullptr) {
      fail("no-topology", "job " + in_quotes(spec.name) + " needs a topology on which an iteration of its workload is measured",
           inside.of(job, "mode"), "give a topology instead of the cluster, or say iteration_time: \"200ms\"");
    } else if (probing == Probing::forbidden) {
      scenario_.assumptions.push_back("job " + in_quotes(spec.name) + " is in job mode: `weft run` measures an iteration first");
      return;
    } else {
      const ProbedIteration probed = probe_iteration(scenario_, workload, spec.place);
      iteration = probed.time;
      spec.compute_share = probed.compute_share;
      origin = "measured alone on the empty cluster";
    }
    require(
        spec.iterations == 0 || iteration <= Duration::ticks(submit_max.in_ticks() / static_cast<std::int64_t>(spec.iterations)),
        "out-of-range", "job " + in_quotes(spec.name) + " would run for more than a year", spec.place,
        counted(spec.iterations, "iteration", "iterations") + " of " + to_text(iteration));
    spec.duration = DurationModel::fixed(iteration * static_cast<std::int64_t>(spec.iterations));
    scenario_.assumptions.push_back("job " + in_quotes(spec.name) +
                                    " is in job mode: " + counted(spec.iterations, "iteration", "iterations") + " of " +
                                    to_text(iteration) + ", " + origin);
  }

  static void check_iteration_time(const scenario::Job& job, const FieldPlaces& inside) {
    const SourcePlace place = inside.of(job, "iteration_time");
    require(job.has_workload() && job.mode() == scenario::JOB, "job-content", "iteration_time is for workloads in job mode", place,
            "drop it, or add mode: JOB to a job with a workload");
    const ParsedQuantity<Duration> time = parse_duration(job.iteration_time());
    if (!time.value) fail("bad-value", "iteration_time: " + time.error.message, place, time.error.help);
    require(*time.value > Duration::zero(), "out-of-range", "iteration_time: an iteration takes time", place,
            "give a time above 0");
  }

  /// A job of the file, or one that its events submit.
  struct OwnJob {
    const scenario::Job* message;
    FieldPlaces inside;
    SourcePlace name;  ///< where it stands; the whole job where it has none
  };

  Loading& loading_;
  Scenario& scenario_;
  std::string path_;
  SourceText source_;
  scenario::Scenario message_;
  TextprotoDocument document_;
  std::vector<OwnJob> own_jobs_;  ///< those that events submit after the others
};

/// A flag that belongs to another one says nothing without it.
void check_flags(const RunFlags& flags, Diagnostics& diagnostics) {
  refuse_unused_flags(flags.workload_options, !flags.workload.empty(), "--workload", diagnostics);
  refuse_unused_flag(flags.iterations.has_value(), "--iterations", !flags.workload.empty(), "--workload", diagnostics);
  const bool is_of_scenario = flags.jobs_options.strict && !flags.scenario_file.empty() && names_job_traces(flags.scenario_file);
  refuse_unused_flags(flags.jobs_options, !flags.jobs.empty(), is_of_scenario, "--jobs", diagnostics);
  if (flags.flows.empty()) return;
  const auto refuse_beside_flows = [&](bool is_given, const std::string& flag, const std::string& what) {
    if (!is_given) return;
    diagnostics.error("unused-flag", flag + " " + what, SourcePlace::named(flag), "drop " + flag + ", or --flows");
  };
  refuse_beside_flows(!flags.scheduler.empty(), "--scheduler", "says something about jobs, and a flow list has none");
  refuse_beside_flows(!flags.placement.empty(), "--placement", "says something about jobs, and a flow list has none");
  refuse_beside_flows(flags.mode == "job", "--mode=job", "simulates no network, and a flow list is nothing else");
}

void fill_place_from_flags(Loading& loading) {
  const RunFlags& flags = loading.flags;
  Scenario& scenario = loading.scenario;
  if (!flags.topology.empty()) {
    const FileAndFormat topology = split_format(flags.topology);
    load_topology_file(scenario, topology.file, topology.format);
  }
  if (!flags.hosts && !flags.gpus_per_host) return;
  if (scenario.topology != nullptr) {
    fail("topology-and-cluster", "a run has a topology or a number of hosts, not both",
         SourcePlace::named(flags.hosts ? "--hosts" : "--gpus-per-host"),
         flags.topology.empty() ? "drop it: the scenario has a topology" : "drop one of --topology and --hosts");
  }
  Diagnostics diagnostics;
  refuse_unused_flag(flags.gpus_per_host.has_value(), "--gpus-per-host", flags.hosts || scenario.hosts > 0, "--hosts", diagnostics);
  diagnostics.throw_if_errors();
  constexpr std::uint32_t gpus_per_host_default = 8;
  if (flags.hosts) scenario.hosts = *flags.hosts;
  if (flags.gpus_per_host || scenario.gpus_per_host == 0) {
    scenario.gpus_per_host = flags.gpus_per_host.value_or(gpus_per_host_default);
  }
}

/// Only --mode overrides `mode` of the file. Where the file leaves it open, --workload and --flows mean flow mode.
void fill_jobs_from_flags(Loading& loading, const ScenarioFile* scenario_file) {
  const RunFlags& flags = loading.flags;
  Scenario& scenario = loading.scenario;
  if (!flags.jobs.empty()) {
    if (scenario_file == nullptr) scenario.mode = Mode::job;
    attempt(loading, [&] {
      const FileAndFormat jobs = split_format(flags.jobs);
      JobTrace trace = read_trace(scenario, jobs.file, jobs.format, flags.jobs_options, false, SourcePlace::named(jobs.file));
      loading.traces.push_back({std::move(trace), jobs.file, {}});
    });
  }
  const bool is_mode_open = scenario_file == nullptr || !scenario_file->has_mode();
  if (!flags.workload.empty()) {
    if (is_mode_open) scenario.mode = Mode::flow;
    attempt(loading, [&] {
      const FileAndFormat file = split_format(flags.workload);
      JobSpec job;
      job.workload = loading.shelf.get(file.file, file.format, flags.workload_options);
      job.name = job.workload->name.empty() ? std::filesystem::path(file.file).filename().string() : job.workload->name;
      job.gpus = job.workload->rank_count;
      job.iterations = flags.iterations.value_or(1);
      job.place = SourcePlace::named(file.file);
      scenario.jobs.push_back(std::move(job));
    });
  }
  if (!flags.flows.empty()) {
    if (is_mode_open) scenario.mode = Mode::flow;
    attempt(loading, [&] {
      const FileAndFormat file = split_format(flags.flows);
      if (!file.format.empty() && file.format != "hpcc") {
        const std::array<std::string, 1> formats = {"hpcc"};
        fail("unknown-format", "there is no flow list format \"" + file.format + "\"", SourcePlace::named("--flows"),
             suggestion(file.format, formats, "format"));
      }
      scenario.flows = import_hpcc_flows(file.file);
      scenario.manifest.add_input("flows", file.file, "hpcc");
    });
  }
}

void fill_from_flags(Loading& loading, const ScenarioFile* file) {
  const RunFlags& flags = loading.flags;
  Scenario& scenario = loading.scenario;
  if (!attempt(loading, [&] { fill_place_from_flags(loading); })) loading.is_place_good = false;
  fill_jobs_from_flags(loading, file);
  if (!flags.scheduler.empty()) {
    attempt(loading, [&] {
      const SourcePlace place = SourcePlace::named("--scheduler=" + flags.scheduler);
      scenario.policy = find_module(scheduling_policies(), flags.scheduler, place).info.name;
    });
  }
  if (!flags.placement.empty()) {
    attempt(loading, [&] {
      const SourcePlace place = SourcePlace::named("--placement=" + flags.placement);
      scenario.placement = find_module(placers(), flags.placement, place).info.name;
    });
  }
  if (flags.seed) scenario.seed = *flags.seed;
  if (flags.mode == "job") scenario.mode = Mode::job;
  if (flags.mode == "flow") scenario.mode = Mode::flow;
  if (flags.mode == "packet") scenario.mode = Mode::packet;
}

/// Gives the jobs of traces what the rules say, which may need to run a workload: to be called when everything else is known. They stand
/// before others of the same instant.
void apply_rules(Loading& loading, Probing probing) {
  if (loading.traces.empty()) return;
  Scenario& scenario = loading.scenario;
  share_origin(scenario, loading.traces);
  std::vector<JobSpec> jobs;
  for (const TraceUnderRules& one : loading.traces) {
    std::vector<JobSpec> of_trace = jobs_under_rules(scenario, one.trace, one.path, one.rules, probing);
    std::move(of_trace.begin(), of_trace.end(), std::back_inserter(jobs));
  }
  scenario.jobs.insert(scenario.jobs.begin(), std::make_move_iterator(jobs.begin()), std::make_move_iterator(jobs.end()));
}

/// A run needs somewhere to run. `file` is null without a scenario file.
void check_cluster(const Scenario& scenario, const RunFlags& flags, const ScenarioFile* file) {
  const SourcePlace command = SourcePlace::named("weft run");
  if (scenario.topology == nullptr && scenario.hosts == 0) {
    fail("nowhere-to-run", "there is nowhere to run", file == nullptr ? command : SourcePlace::named(flags.scenario_file),
         file == nullptr ? "give --topology=FILE, or --hosts=N --gpus-per-host=M for job mode"
                         : "add topology { builder: \"fat_tree\" }, or cluster { hosts: 8 gpus_per_host: 8 } for job mode");
  }
  if (simulates_network(scenario.mode) && scenario.topology == nullptr) {
    const bool is_of_file =
        file != nullptr && flags.mode.empty() && (file->has_mode() || (flags.workload.empty() && flags.flows.empty()));
    fail("no-topology", std::string(to_text(scenario.mode)) + " mode needs a topology",
         is_of_file ? file->place_of("mode") : command,
         is_of_file ? "give a topology instead of the cluster, or take mode: JOB"
                    : "give --topology=FILE or a scenario with a topology, or use --mode=job");
  }
  constexpr std::uint64_t gpus_max = 1ULL << 24;
  if (std::uint64_t{scenario.hosts} * scenario.gpus_per_host > gpus_max) {
    const bool is_of_file = file != nullptr && !flags.hosts && !flags.gpus_per_host;
    fail("cluster-too-large",
         counted(scenario.hosts, "host", "hosts") + " of " + counted(scenario.gpus_per_host, "GPU", "GPUs") + " are more than " +
             std::to_string(gpus_max) + " GPUs",
         is_of_file ? file->place_of("cluster") : command, "simulate a smaller cluster");
  }
}

/// And something to run, of a kind that its mode can.
void check_content(const Scenario& scenario, const RunFlags& flags, const ScenarioFile* file) {
  const bool has_jobs = !flags.jobs.empty() || !flags.workload.empty() || (file != nullptr && file->has_jobs());
  if (flags.flows.empty() && !has_jobs) {
    fail("nothing-to-run", "there is nothing to run", SourcePlace::named(file == nullptr ? "weft run" : flags.scenario_file),
         file == nullptr ? "name a scenario, or give --workload=FILE, --flows=FILE or --jobs=FILE; `weft run --help` shows examples"
                         : "add job { ... } or jobs { file: \"jobs.csv\" format: \"weft\" }");
  }
  if (!flags.flows.empty() && has_jobs) {
    fail("flows-and-jobs", "a flow list runs alone, without jobs", SourcePlace::named("--flows"), "drop --flows or the jobs");
  }
  Diagnostics diagnostics;
  if (scenario.flows && file != nullptr && file->has_scheduler()) {
    diagnostics.error("unused-field", "a scheduler says something about jobs, and a flow list has none",
                      file->place_of("scheduler"), "drop it, or --flows");
  }
  if (scenario.flows && file != nullptr && scenario.mode == Mode::job && flags.mode.empty()) {
    diagnostics.error("unused-field", "mode: JOB simulates no network, and a flow list is nothing else", file->place_of("mode"),
                      "drop it, or --flows");
  }
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const JobSpec& job = scenario.jobs[i];
    if (scenario.mode == Mode::job && job.workload != nullptr && (file == nullptr || !file->is_in_job_mode(i))) {
      diagnostics.error("no-duration", "job " + in_quotes(job.name) + " has a workload but no duration, which job mode needs",
                        job.place, "use --mode=flow, or give the job a duration");
    }
  }
  diagnostics.throw_if_errors();
}

void read_routes(Scenario& scenario) {
  const ParamSet& flow = scenario.parameters.of("flow");
  const std::string& file = flow.text("routes");
  if (file.empty() || flow.text("routing") != "static") return;
  scenario.routes = read_static_routes(SourceText::read(file), *scenario.topology);
}

/// Switches and links need a topology to stand in.
void check_has_network(const Scenario& scenario) {
  constexpr std::array of_network = {"switch_mtbf_hours", "link_mtbf_hours", "link_degraded_mtbf_hours", "flap_mtbf_hours"};
  for (const char* name : of_network) {
    if (scenario.parameters.of("failure").real(name) == 0 || scenario.topology != nullptr) continue;
    fail("no-network", "hosts without a topology have no switches and links that could fail",
         SourcePlace::named(std::string("failure.") + name), "give a topology, or drop it");
  }
}

/// Job mode knows no speeds of links.
void leave_out_slow_links(Scenario& scenario, const std::string& log) {
  scenario.failures.degraded_mtbf_h = 0;
  scenario.failures.flap_mtbf_h = 0;
  const std::size_t slow =
      std::erase_if(scenario.failures.log, [](const LoggedFailure& failure) { return failure.fault == Fault::degrades; });
  if (slow == 0) return;
  scenario.assumptions.push_back(log + ": " + counted(slow, "failure has", "failures have") +
                                 " a factor, which changes nothing: job mode knows no speeds of links");
}

void check_network_failures(const Scenario& scenario) {
  if (!scenario.failures.has_network_failures()) return;
  const SourcePlace place = SourcePlace::named("failure");
  if (scenario.mode == Mode::packet && scenario.parameters.of("packet").duration("retransmission_timeout") == Duration::zero()) {
    fail("nothing-sent-again", "switches and links fail, and what they lose is never sent again", place,
         "give packet.retransmission_timeout, or leave the failures out");
  }
  if (simulates_network(scenario.mode) && scenario.routes != nullptr) {
    fail("routes-know-no-other-way", "switches and links fail, and the routes of flow.routes lead over them all the same", place,
         "leave out flow.routes, or the failures");
  }
}

void read_service(Scenario& scenario) {
  const ParamSet& params = scenario.parameters.of("failure");
  scenario.failures = FailureSettings::of(params);
  const ClusterState cluster = empty_cluster(scenario);
  const std::uint64_t spares = scenario.failures.spares();
  if (spares >= cluster.host_count()) {
    fail("too-many-spares", counted(spares, "host is a spare", "hosts are spares") + ", of " + std::to_string(cluster.host_count()),
         SourcePlace::named("failure.hot_spares, failure.cold_spares"), "leave at least one for jobs");
  }
  for (std::uint32_t host = 0; spares > 0 && host < cluster.host_count(); ++host) {
    if (cluster.gpu_count(HostId(host)) == cluster.host_gpus_max()) continue;
    fail("uneven-spares", "hosts have different numbers of GPUs, and spares would change what jobs fit",
         SourcePlace::named("failure.hot_spares, failure.cold_spares"), "use spares where all hosts are alike");
  }
  if (scenario.topology != nullptr) scenario.failures.network = std::make_shared<const NetworkParts>(scenario.topology);
  check_has_network(scenario);
  const std::string& log = params.text("log");
  if (!log.empty()) scenario.failures.log = read_failure_log(SourceText::read(log), cluster, scenario.failures.network.get());
  if (!simulates_network(scenario.mode)) leave_out_slow_links(scenario, log);
  const ParamSet& maintenance = scenario.parameters.of("maintenance");
  scenario.maintenance = MaintenanceSettings::of(maintenance);
  const std::string& plan = maintenance.text("plan");
  if (!plan.empty()) scenario.maintenance.drains = read_maintenance_plan(SourceText::read(plan), cluster);
}

/// Those that are used.
void add_parameter_files(Scenario& scenario, const std::set<std::string>& unused) {
  for (const ParamSet& set : scenario.parameters.all()) {
    for (const ParamSpec& spec : set.table()) {
      const std::string name = set.module() + "." + std::string(spec.name);
      if (spec.kind != ParamKind::file || set.is_default(spec.name) || unused.contains(name)) continue;
      scenario.manifest.add_input(name, set.text(spec.name), "weft");
    }
  }
}

}  // namespace

std::string_view to_text(Mode mode) {
  switch (mode) {
    case Mode::job:
      return "job";
    case Mode::flow:
      return "flow";
    case Mode::packet:
      return "packet";
  }
  return "";
}

namespace {

void check_data_regions(Scenario& scenario) {
  const auto has_region = [](const JobSpec& job) { return job.data_region.has_value(); };
  if (std::ranges::none_of(scenario.jobs, has_region)) return;
  if (scenario.policy != "mast") {
    scenario.assumptions.push_back("where the data of jobs is makes no difference to scheduler " + scenario.policy +
                                   ", only to mast");
    return;
  }
  const std::int64_t regions = scenario.parameters.of("mast").integer("regions");
  Diagnostics diagnostics;
  for (const JobSpec& job : scenario.jobs) {
    if (!job.data_region || *job.data_region < regions) continue;
    diagnostics.error("unknown-region",
                      "job " + in_quotes(job.name) + " has its data in region " + std::to_string(*job.data_region) + " of " +
                          std::to_string(regions),
                      job.place, "regions count from 0; --set=mast.regions=N makes N of the hosts");
  }
  diagnostics.throw_if_errors();
}

}  // namespace

namespace {

/// Of hosts that are slow for some of the time only.
void note_speeds_at_start(Scenario& scenario) {
  const auto changes = [](const HostSpeedEntry& entry) { return entry.from > Time::zero() || entry.until < Time::max(); };
  const auto is_timed = [](const JobSpec& job) { return job.workload == nullptr; };
  if (std::ranges::none_of(scenario.host_speeds, changes)) return;
  if (std::ranges::any_of(scenario.jobs, is_timed)) {
    scenario.assumptions.push_back(
        "host_speed: jobs in job mode keep the speed that the slowest of their hosts has when they start, each time that they do");
  }
}

void note_flows_beside_packets(Scenario& scenario) {
  const auto flows = std::ranges::count_if(scenario.jobs, &JobSpec::is_in_flow_mode);
  if (flows == 0) return;
  scenario.assumptions.push_back(counted(flows, "job is", "jobs are") +
                                 " in flow mode: flows and packets get their max-min shares of links, and know of each other after "
                                 "flow.wqe_latency; queues, marks and pauses are those of packets alone");
}

void note_unfelt_checkpoints(Scenario& scenario) {
  const auto stores = [](const JobSpec& job) { return job.workload != nullptr && job.checkpoint > Bytes::zero(); };
  if (scenario.parameters.of("scheduler").integer("fast_forward") == 0 || std::ranges::none_of(scenario.jobs, stores)) return;
  scenario.assumptions.push_back(
      "fast forward: checkpoints that jobs write while they are not simulated put nothing on the network and slow nobody down");
}

Scenario read_scenario(const RunFlags& flags, Probing probing) {
  Scenario scenario;
  scenario.manifest.set("weft_version", version_text());
  WorkloadShelf shelf(scenario);
  Loading loading{flags, scenario, shelf};
  Diagnostics& diagnostics = loading.diagnostics;
  check_flags(flags, diagnostics);
  std::unique_ptr<ScenarioFile> file;
  if (flags.scenario_file.empty()) {
    attempt(loading, [&] { scenario.parameters.apply_flags(flags.settings); });
    scenario.parameters.fill_in_preset();
  } else {
    file = std::make_unique<ScenarioFile>(loading);
    file->fill();
  }
  fill_from_flags(loading, file.get());
  if (file != nullptr) file->check_names();
  if (file != nullptr) file->take_modes();
  // Without anything to run it does not matter where.
  const bool has_content = attempt(loading, [&] { check_content(scenario, flags, file.get()); });
  if (loading.is_place_good && has_content) attempt(loading, [&] { check_cluster(scenario, flags, file.get()); });
  if (scenario.topology != nullptr) attempt(loading, [&] { read_routes(scenario); });
  diagnostics.throw_if_errors();
  const bool has_service = !scenario.flows && attempt(loading, [&] { read_service(scenario); });
  if (has_service) attempt(loading, [&] { read_storage(scenario); });
  if (file != nullptr && (scenario.flows || has_service)) attempt(loading, [&] { file->read_events(); });
  if (has_service) attempt(loading, [&] { check_network_failures(scenario); });
  diagnostics.throw_if_errors();
  if (file != nullptr) scenario.host_speeds = file->host_speeds();
  if (file != nullptr) file->run_in_job_mode(probing);
  apply_rules(loading, probing);
  if (has_service) check_storage(scenario);
  if (has_service) note_unfelt_checkpoints(scenario);
  note_speeds_at_start(scenario);
  note_flows_beside_packets(scenario);
  add_parameter_files(scenario, note_unused_settings(scenario, flags.topology.empty()));
  if (scenario.topology == nullptr) {
    scenario.manifest.set("hosts", std::uint64_t{scenario.hosts});
    scenario.manifest.set("gpus_per_host", std::uint64_t{scenario.gpus_per_host});
  }
  if (!scenario.parameters.preset().empty()) scenario.manifest.set("preset", scenario.parameters.preset());
  note_options(flags.workload_options, scenario.manifest);
  if (flags.iterations) scenario.manifest.set("iterations", *flags.iterations);
  check_data_regions(scenario);
  sort_by_submission(scenario.jobs);
  if (scenario.name.empty() && !scenario.jobs.empty()) scenario.name = scenario.jobs.front().name;
  if (scenario.name.empty() && scenario.flows) scenario.name = scenario.flows->name;
  return scenario;
}

}  // namespace

Scenario load_scenario(const RunFlags& flags, Probing probing) {
  return naming_memory_use("while loading " + (flags.scenario_file.empty() ? "the inputs" : flags.scenario_file),
                           [&] { return read_scenario(flags, probing); });
}

bool network_changes(const Scenario& scenario) { return !scenario.flows && scenario.failures.has_network_failures(); }

bool fast_forwards(const Scenario& scenario) { return scenario.parameters.of("scheduler").integer("fast_forward") > 0; }

bool detects_congestion(const Scenario& scenario) {
  return scenario.mode == Mode::flow && !scenario.flows && scenario.parameters.of("flow").text("detect_congestion") == "on";
}

ClusterState empty_cluster(const Scenario& scenario) {
  return scenario.topology != nullptr ? ClusterState(*scenario.topology) : ClusterState(scenario.hosts, scenario.gpus_per_host);
}

ClusterState serving_cluster(const Scenario& scenario) {
  ClusterState cluster = empty_cluster(scenario);
  withdraw_last_hosts(cluster, static_cast<std::uint32_t>(scenario.failures.spares()));
  for (const HostId host : scenario.storage.hosts) cluster.withdraw(cluster.gpus(host));
  return cluster;
}

std::unique_ptr<Placer> make_placer(const Scenario& scenario) {
  return make_placer(scenario, scenario.placement, scenario.parameters.of(scenario.placement));
}

std::unique_ptr<Placer> make_placer(const Scenario& scenario, std::string_view name, const ParamSet& params) {
  const auto& module = find_module(placers(), name, SourcePlace::named("placement"));
  PlacerContext context;
  for (const JobSpec& job : scenario.jobs) context.job_sizes.push_back(std::max(job.gpus, 1U));
  context.topology = scenario.topology;
  return module.make(params, context);
}

}  // namespace weft
