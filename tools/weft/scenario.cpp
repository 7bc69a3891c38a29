#include "tools/weft/scenario.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "core/counted.hpp"
#include "core/source_text.hpp"
#include "core/textproto.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policy.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/iteration_probe.hpp"
#include "tools/weft/job_rules.hpp"
#include "tools/weft/scenario.pb.h"
#include "tools/weft/unused_flags.hpp"
#include "tools/weft/version.hpp"
#include "topologies/builders.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/formats/hpcc_flows.hpp"
#include "workloads/job_trace_reader.hpp"
#include "workloads/measurements/gavel_throughputs.hpp"
#include "workloads/measurements/pollux_placements.hpp"
#include "workloads/templates/workload_templates.hpp"
#include "workloads/workload_reader.hpp"

namespace weft {

namespace {

/// Paths in a scenario are relative to its folder.
std::string relative_to(const std::string& scenario_file, const std::string& path) {
  const std::filesystem::path given(path);
  if (given.is_absolute()) return path;
  return (std::filesystem::path(scenario_file).parent_path() / given).string();
}

[[noreturn]] void fail(std::string code, std::string message, SourcePlace place, std::string help) {
  throw InputError({Severity::error, std::move(code), std::move(message), std::move(place), std::move(help)});
}

/// Reads each workload file once however many jobs run it.
class WorkloadShelf {
 public:
  explicit WorkloadShelf(Scenario& scenario) : scenario_(scenario) {}

  std::shared_ptr<const Workload> get(const std::string& path, const std::string& format, const WorkloadOptions& options) {
    for (const Entry& entry : read_) {
      if (entry.path == path && entry.format == format && entry.options == options) return entry.workload;
    }
    const auto workload = take_in(load_workload(path, format, options), path);
    if (!options.process_groups_path.empty()) {
      scenario_.manifest.add_input("process groups", options.process_groups_path, "json");
    }
    for (const std::string& input : workload_files(path, format)) scenario_.manifest.add_input("workload", input, format);
    read_.push_back({path, format, options, workload});
    return workload;
  }

  /// The same for a template, whose parameters say all about it.
  std::shared_ptr<const Workload> get(const Module<WorkloadFactory>& module, const ParamSet& params, const SourcePlace& place) {
    std::string key = params.module();
    for (std::size_t i = 0; i < params.table().size(); ++i) key += "\n" + params.value_text(i);
    const auto [known, is_new] = made_.try_emplace(key);
    if (is_new) known->second = take_in(module.make(params, place), params.module());
    return known->second;
  }

 private:
  struct Entry {
    std::string path;
    std::string format;
    WorkloadOptions options;
    std::shared_ptr<const Workload> workload;
  };

  std::shared_ptr<const Workload> take_in(Workload content, const std::string& name) {
    auto workload = std::make_shared<const Workload>(std::move(content));
    Diagnostics diagnostics;
    check_workload(*workload, SourcePlace::named(name), diagnostics);
    diagnostics.throw_if_errors();
    for (const std::string& assumption : workload->assumptions) scenario_.assumptions.push_back(name + ": " + assumption);
    scenario_.workloads.push_back(workload);
    return workload;
  }

  Scenario& scenario_;
  std::vector<Entry> read_;
  std::map<std::string, std::shared_ptr<const Workload>> made_;
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
  scenario.manifest.set("jobs_origin_of_time", trace.origin_of_time);
  scenario.manifest.set("jobs_rows_left_out", trace.left_out_rows);
}

/// GPUs on each host of a job's placement on the empty cluster; nothing if there is none.
std::vector<std::uint32_t> placement_alone(const Scenario& scenario, std::uint32_t gpus) {
  const ClusterState cluster = empty_cluster(scenario);
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

std::vector<JobSpec> trace_jobs(Scenario& scenario, const std::string& path, const std::string& format,
                                const JobTraceOptions& options, const std::vector<JobRule>& rules, Probing probing) {
  const JobTrace trace = load_job_trace(path, format, options);
  scenario.manifest.add_input("jobs", path, format);
  note_trace(scenario, trace, path, options);
  if (!trace.has_run_times && rules.empty()) {
    fail("no-run-times", "the trace has iterations but no run times", SourcePlace::named(path),
         "add --throughputs=FILE --gpu-type=NAME, or give each job a workload or measured iterations by rules in a scenario");
  }
  if (scenario.name.empty()) scenario.name = trace.name;
  ClusterProbes probes;
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

class ScenarioFile {
 public:
  ScenarioFile(const std::string& path, const RunFlags& flags)
      : path_(path), source_(SourceText::read(path)), document_(source_, message_, diagnostics_), flags_(flags) {
    diagnostics_.throw_if_errors();
  }

  void fill(Scenario& scenario, WorkloadShelf& shelf) {
    const FieldPlaces places = document_.places();
    scenario.manifest.add_input("scenario", path_, "weft");
    scenario.name = message_.name().empty() ? std::filesystem::path(path_).stem().string() : message_.name();
    if (message_.has_seed()) scenario.seed = message_.seed();
    fill_place(scenario, places);
    apply_settings(message_, places, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
      scenario.parameters.apply(name, value, place);
    });
    if (message_.has_scheduler()) {
      const scenario::Scheduler& scheduler = message_.scheduler();
      const FieldPlaces inside = places.inside(message_, "scheduler");
      if (!scheduler.policy().empty()) {
        scenario.policy = find_module(scheduling_policies(), scheduler.policy(), inside.of(scheduler, "policy")).info.name;
      }
      if (!scheduler.placement().empty()) {
        scenario.placement = find_module(placers(), scheduler.placement(), inside.of(scheduler, "placement")).info.name;
      }
    }
    fill_jobs(scenario, shelf, places);
    switch (message_.mode()) {
      case scenario::JOB:
        scenario.mode = Mode::job;
        break;
      case scenario::FLOW:
        scenario.mode = Mode::flow;
        break;
      default:
        scenario.mode = scenario.topology != nullptr && has_workloads(scenario) ? Mode::flow : Mode::job;
    }
    diagnostics_.throw_if_errors();
  }

  /// Job traces and their rules, which may need to run a workload: to be called when everything else is known. Their jobs stand before others
  /// of the same instant.
  void fill_traces(Scenario& scenario, WorkloadShelf& shelf, Probing probing) {
    const FieldPlaces places = document_.places();
    std::vector<JobSpec> jobs;
    for (int i = 0; i < message_.jobs_size(); ++i) {
      const FieldPlaces inside = places.inside(message_, "jobs", i);
      const scenario::JobTrace& trace = message_.jobs(i);
      require(!trace.file().empty(), "missing-field", "a job trace needs a file", places.of(message_, "jobs", i),
              "file: \"jobs.csv\"");
      require(!trace.format().empty(), "missing-field", "a job trace needs a format", inside.of(trace, "file"),
              "format: \"weft\"; `weft modules job-format` lists them");
      std::vector<JobRule> rules;
      for (int r = 0; r < trace.rule_size(); ++r) {
        rules.push_back(rule_of(trace.rule(r), inside.of(trace, "rule", r), inside.inside(trace, "rule", r), scenario, shelf));
      }
      std::vector<JobSpec> of_trace =
          trace_jobs(scenario, relative_to(path_, trace.file()), trace.format(), options_of(trace), rules, probing);
      std::move(of_trace.begin(), of_trace.end(), std::back_inserter(jobs));
    }
    scenario.jobs.insert(scenario.jobs.begin(), std::make_move_iterator(jobs.begin()), std::make_move_iterator(jobs.end()));
  }

 private:
  WorkloadOptions options_of(const scenario::Workload& workload) const {
    WorkloadOptions options;
    if (workload.ranks() > 0) options.ranks = workload.ranks();
    if (workload.has_iteration()) options.iteration = workload.iteration();
    if (!workload.process_groups().empty()) options.process_groups_path = relative_to(path_, workload.process_groups());
    options.time_unit = workload.time_unit();
    options.collectives_as_recorded = workload.as_recorded();
    return options;
  }

  JobTraceOptions options_of(const scenario::JobTrace& trace) const {
    JobTraceOptions options;
    options.strict = trace.strict() || flags_.jobs_options.strict;
    options.time_zone = trace.time_zone();
    if (!trace.throughputs().empty()) options.throughputs_path = relative_to(path_, trace.throughputs());
    options.gpu_type = trace.gpu_type();
    return options;
  }

  /// Hands each `set` of a message to `set` with its place; what that throws is thrown together in the end. An unknown name is underlined
  /// itself, of a wrong value the value.
  template <class Message, class Set>
  static void apply_settings(const Message& message, const FieldPlaces& places, const Set& set) {
    Diagnostics diagnostics;
    for (int i = 0; i < message.set_size(); ++i) {
      const scenario::Setting& setting = message.set(i);
      const FieldPlaces inside = places.inside(message, "set", i);
      try {
        set(setting.name(), setting.value(), inside.of(setting, "name"));
      } catch (const InputError& error) {
        for (Diagnostic diagnostic : error.diagnostics()) {
          if (diagnostic.code == "bad-value" || diagnostic.code == "out-of-range") diagnostic.place = inside.of(setting, "value");
          diagnostics.add(std::move(diagnostic));
        }
      }
    }
    diagnostics.throw_if_errors();
  }

  /// The parameters of a module as the `set`s of a message say.
  template <class Message>
  static ParamSet params_of(const ModuleInfo& module, const Message& message, const FieldPlaces& places) {
    ParamSet params(std::string(module.name), module.params);
    apply_settings(message, places, [&](const std::string& name, const std::string& value, const SourcePlace& place) {
      params.set(name, value, place);
    });
    return params;
  }

  std::shared_ptr<const Workload> make(const scenario::Workload& workload, const SourcePlace& place, const FieldPlaces& places,
                                       WorkloadShelf& shelf, std::optional<std::uint32_t> ranks) {
    const bool is_alone = workload.file().empty() && workload.format().empty() && options_of(workload) == WorkloadOptions();
    require(is_alone, "workload-source", "a template is no file and takes nothing but its parameters", place,
            "give template: and set { name: \"...\" value: \"...\" }, or file: and what belongs to it");
    const SourcePlace name_place = places.of(workload, "template");
    const auto& module = find_module(workload_templates(), workload.template_(), name_place);
    auto made = shelf.get(module, params_of(module.info, workload, places), name_place);
    require(!ranks || made->rank_count == *ranks, "rank-count-mismatch",
            "template " + workload.template_() + " makes " + counted(made->rank_count, "rank", "ranks") +
                ", jobs that the rule matches have " + counted(ranks.value_or(0), "GPU", "GPUs"),
            place, "limit the rule to jobs with as many GPUs as the workload has ranks, like gpus: \"8\"");
    return made;
  }

  std::shared_ptr<const Workload> load(const scenario::Workload& workload, const SourcePlace& place, const FieldPlaces& places,
                                       WorkloadShelf& shelf, std::optional<std::uint32_t> ranks) {
    if (!workload.template_().empty()) return make(workload, place, places, shelf, ranks);
    require(workload.set_size() == 0, "workload-source", "set says something about a template, which is not given", place,
            "add template: \"llm\"; `weft modules template` lists them");
    require(!workload.file().empty(), "missing-field", "a workload needs a file or a template", place,
            "file: \"my.textproto\" or template: \"llm\"");
    WorkloadOptions options = options_of(workload);
    if (ranks && !options.ranks) options.ranks = ranks;
    try {
      return shelf.get(relative_to(path_, workload.file()), workload.format(), options);
    } catch (const InputError& error) {
      if (!ranks || error.diagnostics().front().code != "rank-conflict") throw;
      fail("rank-count-mismatch",
           workload.file() + " cannot run on the " + counted(*ranks, "GPU", "GPUs") + " of jobs that the rule matches", place,
           "limit the rule to jobs with as many GPUs as the workload has ranks, like gpus: \"8\"");
    }
  }

  JobRule rule_of(const scenario::JobRule& said, const SourcePlace& place, const FieldPlaces& places, Scenario& scenario,
                  WorkloadShelf& shelf) {
    JobRule rule;
    rule.place = place;
    read_gpu_range(said.gpus(), places.of(said, "gpus"), rule);
    rule.name = said.name();
    rule.group = said.group();
    rule.model = said.model();
    rule.iterations = said.iterations();
    require(said.has_workload() != said.has_measured_iteration(), "rule-content",
            "a rule gives either a workload or measured iterations", place,
            "workload { file: \"...\" }, or measured_iteration { file: \"...\" format: \"pollux\" }");
    if (!said.iteration_time().empty()) {
      require(said.has_workload(), "rule-content", "measured iterations bring their time along", places.of(said, "iteration_time"),
              "drop iteration_time");
      const ParsedQuantity<Duration> time = parse_duration(said.iteration_time());
      if (!time.value)
        fail("bad-value", "iteration_time: " + time.error.message, places.of(said, "iteration_time"), time.error.help);
      rule.iteration_time = *time.value;
    }
    if (said.has_workload()) {
      rule.workload_name = said.workload().file().empty() ? said.workload().template_() : said.workload().file();
      rule.workload = [this, &said, place = places.of(said, "workload"), inside = places.inside(said, "workload"),
                       &shelf](std::uint32_t gpus) { return load(said.workload(), place, inside, shelf, gpus); };
    } else {
      rule.measured = measured_of(said.measured_iteration(), places.inside(said, "measured_iteration"),
                                  places.of(said, "measured_iteration"), scenario);
    }
    return rule;
  }

  std::unique_ptr<MeasuredIterations> measured_of(const scenario::MeasuredIteration& said, const FieldPlaces& places,
                                                  const SourcePlace& place, Scenario& scenario) {
    require(!said.file().empty(), "missing-field", "measured iterations need a file", place, "file: \"placements.csv\"");
    const std::string file = relative_to(path_, said.file());
    const std::array<std::string, 2> formats = {"pollux", "gavel-throughputs"};
    require(said.format() == formats[0] || said.format() == formats[1], "unknown-format",
            "there is no format of iteration times \"" + said.format() + "\"",
            said.format().empty() ? place : places.of(said, "format"), suggestion(said.format(), formats, "format"));
    scenario.manifest.add_input("measured iterations", file, said.format());
    if (said.format() == formats[1]) {
      require(said.local_batch_size() == 0, "unused-field", "a table of throughputs has no batch sizes of its own",
              places.of(said, "local_batch_size"), "drop it: the job type says the batch size");
      return measured_by_job_type(GavelThroughputs::read(SourceText::read(file)), said.gpu_type(),
                                  said.gpu_type().empty() ? place : places.of(said, "gpu_type"));
    }
    require(said.gpu_type().empty(), "unused-field", "a table of placements has no GPU types", places.of(said, "gpu_type"),
            "drop it");
    const PolluxPlacements table = PolluxPlacements::read(SourceText::read(file));
    const std::vector<std::uint32_t> sizes = table.batch_sizes();
    const std::uint32_t size = said.local_batch_size() == 0 && sizes.size() == 1 ? sizes.front() : said.local_batch_size();
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
      std::string known;
      for (const std::uint32_t s : sizes) known += (known.empty() ? "" : ", ") + std::to_string(s);
      fail("unknown-batch-size",
           size == 0 ? file + " has several batch sizes, and none is named"
                     : file + " has no local batch size " + std::to_string(size),
           size == 0 ? place : places.of(said, "local_batch_size"), "local_batch_size is one of " + known);
    }
    return measured_for_all(table.of_batch_size(size), file);
  }

  bool has_workloads(const Scenario& scenario) const {
    for (const scenario::JobTrace& trace : message_.jobs()) {
      for (const scenario::JobRule& rule : trace.rule()) {
        if (rule.has_workload()) return true;
      }
    }
    return std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [](const JobSpec& job) { return job.workload != nullptr; });
  }

  void require(bool condition, std::string code, std::string message, SourcePlace place, std::string help) {
    if (!condition) fail(std::move(code), std::move(message), std::move(place), std::move(help));
  }

  void fill_place(Scenario& scenario, const FieldPlaces& places) {
    if (message_.has_topology()) {
      const scenario::Topology& topology = message_.topology();
      const FieldPlaces inside = places.inside(message_, "topology");
      const bool has_builder = !topology.builder().empty();
      require(has_builder != !topology.file().empty(), "topology-source", "a topology is either built by name or read from a file",
              places.of(message_, "topology"), "give one of builder: \"fat_tree\" and file: \"my.textproto\"");
      if (has_builder) {
        const auto& module = find_module(topology_builders(), topology.builder(), inside.of(topology, "builder"));
        scenario.parameters.add(params_of(module.info, topology, inside));
        std::vector<std::string> of_builder;
        std::copy_if(flags_.settings.begin(), flags_.settings.end(), std::back_inserter(of_builder),
                     [&](const std::string& text) { return text.starts_with(topology.builder() + "."); });
        scenario.parameters.apply_flags(of_builder);
        scenario.topology = module.make(scenario.parameters.of(topology.builder()), inside.of(topology, "builder"));
      } else {
        load_topology_file(scenario, relative_to(path_, topology.file()), topology.format());
      }
    }
    if (message_.has_cluster()) {
      const scenario::Cluster& cluster = message_.cluster();
      require(scenario.topology == nullptr, "topology-and-cluster", "a scenario has a topology or a cluster, not both",
              places.of(message_, "cluster"), "drop the cluster: the topology's hosts are the cluster");
      require(cluster.hosts() > 0 && cluster.gpus_per_host() > 0, "empty-cluster", "a cluster needs hosts and gpus_per_host",
              places.of(message_, "cluster"), "for example cluster { hosts: 8 gpus_per_host: 8 }");
      scenario.hosts = cluster.hosts();
      scenario.gpus_per_host = cluster.gpus_per_host();
    }
  }

  void fill_jobs(Scenario& scenario, WorkloadShelf& shelf, const FieldPlaces& places) {
    for (int i = 0; i < message_.job_size(); ++i) {
      const scenario::Job& job = message_.job(i);
      const FieldPlaces inside = places.inside(message_, "job", i);
      JobSpec spec;
      spec.name = job.name().empty() ? "job" + std::to_string(i) : job.name();
      spec.group = job.group();
      spec.priority = job.priority();
      spec.place = places.of(message_, "job", i);
      if (!job.submit().empty()) {
        const ParsedQuantity<Duration> submit = parse_duration(job.submit());
        if (!submit.value) fail("bad-value", "submit: " + submit.error.message, inside.of(job, "submit"), submit.error.help);
        if (*submit.value > submit_max) {
          fail("out-of-range", "submit: " + job.submit() + " is too late", inside.of(job, "submit"),
               "jobs are submitted within the first 366 days");
        }
        spec.submit = Time::zero() + *submit.value;
      }
      require(job.has_workload() != !job.duration().empty(), "job-content", "a job has either a workload or a duration", spec.place,
              "workload { file: \"...\" } for flow mode, duration: \"2h\" for job mode");
      if (job.has_workload()) {
        spec.workload = load(job.workload(), inside.of(job, "workload"), inside.inside(job, "workload"), shelf, std::nullopt);
        spec.gpus = job.gpus() == 0 ? spec.workload->rank_count : job.gpus();
        spec.iterations = job.iterations() == 0 ? 1 : job.iterations();
      } else {
        require(job.gpus() > 0, "missing-field", "a job needs gpus", spec.place, "for example gpus: 8");
        spec.gpus = job.gpus();
        spec.iterations = job.iterations();
        spec.duration = DurationModel::parse(job.duration(), inside.of(job, "duration"));
      }
      scenario.jobs.push_back(std::move(spec));
    }
  }

  std::string path_;
  SourceText source_;
  scenario::Scenario message_;
  Diagnostics diagnostics_;
  TextprotoDocument document_;
  const RunFlags& flags_;
};

/// A flag that belongs to another one says nothing without it.
void check_flags(const RunFlags& flags) {
  Diagnostics diagnostics;
  refuse_unused_flags(flags.workload_options, !flags.workload.empty(), "--workload", diagnostics);
  refuse_unused_flag(flags.iterations.has_value(), "--iterations", !flags.workload.empty(), "--workload", diagnostics);
  refuse_unused_flags(flags.jobs_options, !flags.jobs.empty(), !flags.scenario_file.empty(), "--jobs", diagnostics);
  refuse_unused_flag(flags.gpus_per_host.has_value(), "--gpus-per-host", flags.hosts > 0, "--hosts", diagnostics);
  diagnostics.throw_if_errors();
}

void fill_from_flags(Scenario& scenario, const RunFlags& flags, WorkloadShelf& shelf) {
  if (!flags.topology.empty()) {
    const FileAndFormat topology = split_format(flags.topology);
    load_topology_file(scenario, topology.file, topology.format);
  }
  if (flags.hosts > 0) {
    if (scenario.topology != nullptr) {
      fail("topology-and-cluster", "a run has a topology or a number of hosts, not both", SourcePlace::named("--hosts"),
           "drop one of --topology and --hosts");
    }
    scenario.hosts = flags.hosts;
    scenario.gpus_per_host = flags.gpus_per_host.value_or(8);
  }
  if (!flags.jobs.empty()) {
    const FileAndFormat jobs = split_format(flags.jobs);
    // Without rules nothing is asked of the cluster.
    std::vector<JobSpec> of_trace = trace_jobs(scenario, jobs.file, jobs.format, flags.jobs_options, {}, Probing::forbidden);
    std::move(of_trace.begin(), of_trace.end(), std::back_inserter(scenario.jobs));
    scenario.mode = Mode::job;
  }
  if (!flags.workload.empty()) {
    const FileAndFormat file = split_format(flags.workload);
    JobSpec job;
    job.workload = shelf.get(file.file, file.format, flags.workload_options);
    job.name = job.workload->name.empty() ? std::filesystem::path(file.file).filename().string() : job.workload->name;
    job.gpus = job.workload->rank_count;
    job.iterations = flags.iterations.value_or(1);
    job.place = SourcePlace::named(file.file);
    scenario.jobs.push_back(std::move(job));
    scenario.mode = Mode::flow;
  }
  if (!flags.flows.empty()) {
    const FileAndFormat file = split_format(flags.flows);
    if (!file.format.empty() && file.format != "hpcc") {
      const std::array<std::string, 1> formats = {"hpcc"};
      fail("unknown-format", "there is no flow list format \"" + file.format + "\"", SourcePlace::named("--flows"),
           suggestion(file.format, formats, "format"));
    }
    scenario.flows = import_hpcc_flows(file.file);
    scenario.manifest.add_input("flows", file.file, "hpcc");
    scenario.mode = Mode::flow;
  }
}

/// A run needs somewhere to run.
void check_cluster(const Scenario& scenario) {
  const SourcePlace place = SourcePlace::named("weft run");
  if (scenario.topology == nullptr && scenario.hosts == 0) {
    fail("nowhere-to-run", "there is nowhere to run", place, "give --topology=FILE, or --hosts=N --gpus-per-host=M for job mode");
  }
  if (scenario.mode == Mode::flow && scenario.topology == nullptr) {
    fail("no-topology", "flow mode needs a topology", place,
         "give --topology=FILE or a scenario with a topology, or use --mode=job");
  }
  constexpr std::uint64_t gpus_max = 1ULL << 24;
  if (std::uint64_t{scenario.hosts} * scenario.gpus_per_host > gpus_max) {
    fail("cluster-too-large",
         counted(scenario.hosts, "host", "hosts") + " of " + counted(scenario.gpus_per_host, "GPU", "GPUs") + " are more than " +
             std::to_string(gpus_max) + " GPUs",
         place, "simulate a smaller cluster");
  }
}

/// And something to run.
void check_complete(const Scenario& scenario) {
  const SourcePlace place = SourcePlace::named("weft run");
  if (scenario.jobs.empty() && !scenario.flows) {
    fail("nothing-to-run", "there is nothing to run", place,
         "name a scenario, or give --workload=FILE, --flows=FILE or --jobs=FILE; `weft run --help` shows examples");
  }
  if (scenario.flows && !scenario.jobs.empty()) {
    fail("flows-and-jobs", "a flow list runs alone, without jobs", place, "drop --flows or the jobs");
  }
  check_cluster(scenario);
  for (const JobSpec& job : scenario.jobs) {
    if (scenario.mode == Mode::job && job.workload != nullptr) {
      fail("no-duration", "job \"" + job.name + "\" has a workload but no duration, which job mode needs", job.place,
           "use --mode=flow, or give the job a duration");
    }
  }
}

}  // namespace

std::string_view to_text(Mode mode) { return mode == Mode::job ? "job" : "flow"; }

Scenario load_scenario(const RunFlags& flags, Probing probing) {
  Scenario scenario;
  scenario.manifest.set("weft_version", version_text());
  check_flags(flags);
  WorkloadShelf shelf(scenario);
  std::unique_ptr<ScenarioFile> file;
  if (!flags.scenario_file.empty()) {
    file = std::make_unique<ScenarioFile>(flags.scenario_file, flags);
    file->fill(scenario, shelf);
  }
  fill_from_flags(scenario, flags, shelf);
  scenario.parameters.apply_flags(flags.settings);
  if (!flags.scheduler.empty()) {
    scenario.policy =
        find_module(scheduling_policies(), flags.scheduler, SourcePlace::named("--scheduler=" + flags.scheduler)).info.name;
  }
  if (!flags.placement.empty()) {
    scenario.placement = find_module(placers(), flags.placement, SourcePlace::named("--placement=" + flags.placement)).info.name;
  }
  if (flags.seed) scenario.seed = *flags.seed;
  if (flags.mode == "job") scenario.mode = Mode::job;
  if (flags.mode == "flow") scenario.mode = Mode::flow;
  if (file != nullptr) {
    check_cluster(scenario);
    file->fill_traces(scenario, shelf, probing);
  }
  check_complete(scenario);
  if (scenario.topology == nullptr) {
    scenario.manifest.set("hosts", std::uint64_t{scenario.hosts});
    scenario.manifest.set("gpus_per_host", std::uint64_t{scenario.gpus_per_host});
  }
  note_options(flags.workload_options, scenario.manifest);
  if (flags.iterations) scenario.manifest.set("iterations", *flags.iterations);
  sort_by_submission(scenario.jobs);
  if (scenario.name.empty() && !scenario.jobs.empty()) scenario.name = scenario.jobs.front().name;
  if (scenario.name.empty() && scenario.flows) scenario.name = scenario.flows->name;
  return scenario;
}

ClusterState empty_cluster(const Scenario& scenario) {
  return scenario.topology != nullptr ? ClusterState(*scenario.topology) : ClusterState(scenario.hosts, scenario.gpus_per_host);
}

std::unique_ptr<Placer> make_placer(const Scenario& scenario) {
  const auto& module = find_module(placers(), scenario.placement, SourcePlace::named("placement"));
  return module.make(scenario.parameters.of(scenario.placement));
}

}  // namespace weft
