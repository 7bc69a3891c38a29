// `weft predict`: forks a snapshot of a cluster - once as it is, once with what was asked about - and tells what differs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/text/counted.hpp"
#include "core/text/readable.hpp"
#include "scheduler/failures/part.hpp"
#include "scheduler/lifecycle/elastic_restart.hpp"
#include "tools/simulation/scenario/parameter_changes.hpp"
#include "tools/simulation/simulation.hpp"
#include "tools/simulation/snapshot_file.hpp"
#include "tools/simulation/temporary_folder.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/input_flags.hpp"
#include "tools/weft/validators.hpp"
#include "topologies/reduced_topology.hpp"

namespace weft {

namespace {

using State = ClusterSnapshot::State;

struct PredictOptions {
  std::string snapshot;
  std::string drain;
  std::string start;
  std::string horizon = "1h";
  std::vector<std::string> settings;
  std::uint32_t threads = 0;  ///< 0: one per core
  bool json = false;
};

/// One of the two futures.
struct Fork {
  Scenario scenario;
  ClusterSnapshot from;
  std::shared_ptr<const KnownLinkDemands> link_demands;  ///< but in job mode
  ClusterSnapshot end = {};
};

/// What is asked about, as it applies to the second future.
struct Question {
  std::string text;
  std::vector<HostId> drained;
  JobId started = JobId::none();
  std::optional<std::uint64_t> crossing;  ///< of a switch that cuts nobody off: running jobs whose transfers cross it
  /// Why it cannot be done at all; "" if it can be tried.
  std::string refusal;
};

InputError unknown_node(const std::string& name, const Scenario& scenario, const ClusterState& cluster) {
  std::vector<std::string> known;
  if (scenario.topology != nullptr) {
    for (std::uint32_t node = 0; node < scenario.topology->node_count(); ++node)
      known.push_back(scenario.topology->node_name(NodeId(node)));
  }
  for (std::uint32_t host = 0; host < cluster.host_count(); ++host) known.push_back("host" + std::to_string(host));
  return InputError({Severity::error, "unknown-node", "the cluster has no host or switch \"" + name + "\"",
                     SourcePlace::named("--drain"), suggestion(name, known, "node")});
}

/// Jobs whose transfers took ways that are no more have to be looked at anew.
/// Returns how many they are.
std::uint64_t take_switch_away(Fork& fork, NodeId node, const ReducedTopology& reduced) {
  if (fork.scenario.routes != nullptr) {
    fail("fixed-routes", "flow.routes names the ways of transfers, some of them perhaps over this switch",
         SourcePlace::named("--drain"), "ask with --set=flow.routing=spray, for example");
  }
  const auto touches = [&](const LinkDemand& demand) {
    const Link& link = fork.scenario.topology->link(demand.link);
    return link.source == node || link.destination == node;
  };
  std::uint64_t crossing = 0;
  if (fork.link_demands != nullptr) {
    auto kept = std::make_shared<KnownLinkDemands>();
    for (const auto& [job, known] : *fork.link_demands) {
      const bool crosses = known.link_demand == nullptr || std::ranges::any_of(known.link_demand->links(), touches);
      fork.from.jobs[job.index()].is_pace_old = crosses;
      crossing += crosses ? 1 : 0;
      if (crosses) continue;
      auto renumbered = std::make_shared<const JobLinkDemand>(known.link_demand->renumbered(reduced.link));
      kept->emplace(job, KnownLinkDemand{known.endpoint_of_rank, std::move(renumbered)});
    }
    fork.link_demands = std::move(kept);
  }
  fork.scenario.topology = reduced.topology;
  return crossing;
}

Question ask_drain(const std::string& name, Fork& fork, Time until) {
  Scenario& scenario = fork.scenario;
  const ClusterState cluster = empty_cluster(scenario);
  Question question;
  question.text = "drain of " + name;
  if (const std::optional<Part> part = parse_part(name, cluster)) {
    question.drained = {host_of(*part, cluster)};
  } else {
    const NodeId node = scenario.topology == nullptr ? NodeId::none() : node_called(*scenario.topology, name);
    if (node.is_none()) throw unknown_node(name, scenario, cluster);
    if (scenario.topology->node(node).kind != NodeKind::packet_switch) {
      question.drained = {scenario.topology->node(node).host};
    } else {
      const ReducedTopology reduced = without_switch(*scenario.topology, node);
      question.drained = reduced.cut_off;
      if (reduced.cut_off.empty()) question.crossing = take_switch_away(fork, node, reduced);
    }
  }
  if (question.drained.size() == cluster.host_count()) {
    question.refusal = "no host would be left";
    return question;
  }
  // It lasts as long as anybody looks.
  for (const HostId host : question.drained) {
    scenario.maintenance.drains.push_back({fork.from.at, host, until - fork.from.at + Duration::s(1)});
  }
  return question;
}

ClusterState cluster_of(const Fork& fork) {
  ClusterState cluster = empty_cluster(fork.scenario);
  for (const GpuSlot gpu : fork.from.out_of_service) cluster.withdraw(std::span(&gpu, 1));
  for (std::size_t i = 0; i < fork.from.jobs.size(); ++i) {
    const ClusterSnapshot::Job& job = fork.from.jobs[i];
    if (job.state == State::runs) cluster.take(JobId(static_cast<std::uint32_t>(i)), job.placement);
  }
  return cluster;
}

Question ask_start(const std::string& name, Fork& fork) {
  const std::vector<JobSpec>& specs = fork.scenario.jobs;
  const SourcePlace place = SourcePlace::named("--start");
  const auto found = std::ranges::find(specs, name, &JobSpec::name);
  if (found == specs.end()) {
    std::vector<std::string> known;
    for (const JobSpec& spec : specs) known.push_back(spec.name);
    fail("unknown-job", "the snapshot has no job \"" + name + "\"", place, suggestion(name, known, "job"));
  }
  Question question;
  question.text = "start of " + name;
  question.started = JobId(static_cast<std::uint32_t>(found - specs.begin()));
  ClusterSnapshot::Job& job = fork.from.jobs[question.started.index()];
  if (job.state == State::runs || job.state == State::ended) {
    fail("already-started", "job \"" + name + "\" " + (job.state == State::runs ? "runs already" : "has ended"), place,
         "name one that waits or has not arrived");
  }
  const ClusterState cluster = cluster_of(fork);
  const std::unique_ptr<Placer> placer = make_placer(fork.scenario);
  std::optional<Placement> placement = placer->place(cluster, found->gpus);
  if (!placement && job.record.start) placement = place_smaller(*found, cluster, *placer);
  if (!placement) {
    const std::uint32_t least = job.record.start ? least_gpus(*found) : found->gpus;
    question.refusal = "it wants " + (least < found->gpus ? std::to_string(least) + " to " : "") +
                       counted(found->gpus, "GPU", "GPUs") + ", and of the " + std::to_string(cluster.free_gpus()) +
                       " that are free placement " + fork.scenario.placement + " finds none that fit";
    return question;
  }
  if (job.state == State::waits) job.record.wait += fork.from.at - job.queued;
  job.state = State::runs;
  job.placement = *placement;
  job.since = job.part_since = fork.from.at;
  job.fetches = true;
  job.record.placement = cluster.to_text(*placement);
  if (job.record.start) {
    ++job.record.restarts;
  } else {
    job.record.start = fork.from.at;
  }
  job.record.last_start = fork.from.at;
  return question;
}

/// What the scheduler cannot foresee stays out of both futures.
void calm(Scenario& scenario, Time from) {
  apply_changes_until(scenario, from);
  scenario.events.clear();
  scenario.changes.clear();
  scenario.handlers.clear();
  scenario.failures.mtbf_h.fill(0);
  scenario.failures.degraded_mtbf_h = scenario.failures.flap_mtbf_h = 0;
  scenario.failures.log.clear();
  scenario.failures.hot_spares = scenario.failures.cold_spares = 0;
  scenario.maintenance.drains.clear();
  scenario.maintenance.notice = Duration::zero();
  if (simulates_network(scenario.mode) && scenario.parameters.of("scheduler").integer("fast_forward") == 0)
    scenario.parameters.apply("scheduler.fast_forward", "2", SourcePlace::named("weft predict"));
}

void look_ahead(Fork& fork, Time until) {
  const TemporaryFolder folder;
  SimulationOptions options;
  options.out = folder.path();
  options.until = until;
  options.from = std::make_shared<const ClusterSnapshot>(fork.from);
  options.link_demands = fork.link_demands;
  options.at_end = [&fork](const ClusterSnapshot& end) { fork.end = end; };
  finish_simulation(fork.scenario, options);
}

void look_ahead(Fork& now, Fork& then, Time until, std::uint32_t threads) {
  if (threads == 1) {
    look_ahead(now, until);
    look_ahead(then, until);
    return;
  }
  std::exception_ptr failure;
  {
    const std::jthread beside([&] {
      try {
        look_ahead(now, until);
      } catch (...) {
        failure = std::current_exception();
      }
    });
    look_ahead(then, until);
  }
  if (failure) std::rethrow_exception(failure);
}

/// What becomes of a job in one of the futures.
struct Outlook {
  State state = State::waits;
  std::optional<double> iteration_s;  ///< if it was measured
  std::optional<double> end_s;        ///< or ended already; if that is known
};

Outlook outlook_of(const ClusterSnapshot::Job& job) {
  Outlook outlook;
  outlook.state = job.state;
  if (job.iteration_time) outlook.iteration_s = job.iteration_time->in_s();
  if (job.record.end) outlook.end_s = job.record.end->in_s();
  if (job.expected_end) outlook.end_s = job.expected_end->in_s();
  return outlook;
}

struct JobAnswer {
  JobId job;
  Outlook now;
  Outlook then;
  bool is_hit = false;             ///< it ran on a host that is drained, or is the one that starts
  std::optional<double> waited_s;  ///< then: from the instant of the question until it started again
  std::string placement;           ///< then, if it started
};

/// That it holds, or wants.
std::size_t gpus_of(const Fork& fork, JobId job) {
  const ClusterSnapshot::Job& from = fork.from.jobs[job.index()];
  return from.state == State::runs ? from.placement.gpus.size() : fork.scenario.jobs[job.index()].gpus;
}

double change(const std::optional<double>& now, const std::optional<double>& then) {
  return now && then && *now != 0 ? *then / *now - 1 : 0;
}

bool differs(const JobAnswer& answer, double at_s) {
  constexpr double least = 1e-3;
  if (answer.is_hit || answer.now.state != answer.then.state) return true;
  if (std::abs(change(answer.now.iteration_s, answer.then.iteration_s)) >= least) return true;
  if (!answer.now.end_s || !answer.then.end_s) return false;
  return std::abs(*answer.then.end_s - *answer.now.end_s) >= least * std::max(*answer.now.end_s - at_s, 1.0);
}

std::vector<JobAnswer> compare(const Fork& now, const Fork& then, const Question& question) {
  const ClusterState cluster = empty_cluster(now.scenario);
  std::vector<bool> is_drained(cluster.host_count(), false);
  for (const HostId host : question.drained) is_drained[host.index()] = true;
  std::vector<JobAnswer> answers;
  for (std::size_t i = 0; i < now.from.jobs.size(); ++i) {
    const ClusterSnapshot::Job& before = now.from.jobs[i];
    const ClusterSnapshot::Job& after = then.end.jobs[i];
    if (before.state == State::ended) continue;
    JobAnswer answer;
    answer.job = JobId(static_cast<std::uint32_t>(i));
    answer.now = outlook_of(now.end.jobs[i]);
    answer.then = outlook_of(after);
    const auto stands_still = [&](GpuSlot gpu) { return is_drained[cluster.host_of(gpu).index()]; };
    answer.is_hit = answer.job == question.started || std::ranges::any_of(before.placement.gpus, stands_still);
    const bool starts =
        after.record.last_start && (!before.record.last_start || *after.record.last_start > *before.record.last_start);
    if (starts) {
      answer.waited_s = (*after.record.last_start - now.from.at).in_s();
      answer.placement = after.record.placement;
    }
    answers.push_back(answer);
  }
  return answers;
}

const char* to_text(State state) {
  switch (state) {
    case State::not_arrived:
      return "not arrived";
    case State::waits:
      return "waits";
    case State::runs:
      return "runs";
    case State::ended:
      return "ended";
  }
  return "";
}

std::string percent(double ratio) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%+.1f %%", ratio * 100);
  return buffer;
}

std::string note_of(const JobAnswer& answer, const Question& question) {
  if (answer.job == question.started) return "starts on " + answer.placement;
  if (answer.is_hit && answer.waited_s) return "moves after " + readable(*answer.waited_s) + " to " + answer.placement;
  if (answer.is_hit && answer.then.state == State::waits) return "finds no place";
  if (answer.is_hit && answer.then.state == State::runs) return "goes on there until it ends";
  if (answer.now.state == answer.then.state) return "";
  if (answer.waited_s) return "starts after " + readable(*answer.waited_s);
  return std::string(to_text(answer.then.state)) + " instead of " + to_text(answer.now.state);
}

void print(const Fork& now, const Question& question, const std::vector<JobAnswer>& answers, Duration horizon) {
  const double at_s = now.from.at.in_s();
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  for (const ClusterSnapshot::Job& job : now.from.jobs) {
    running += job.state == State::runs ? 1 : 0;
    waiting += job.state == State::waits ? 1 : 0;
  }
  const ClusterState cluster = cluster_of(now);
  std::printf("%s at %s: %s, %llu wait, %u of %s free\n", now.scenario.name.c_str(), readable(at_s).c_str(),
              counted(running, "job runs", "jobs run").c_str(), static_cast<unsigned long long>(waiting), cluster.free_gpus(),
              counted(cluster.gpu_count(), "GPU is", "GPUs are").c_str());
  if (const std::size_t cables = now.from.slow_cables.size(); cables > 0)
    std::printf("%s out or slow, and stay so\n", counted(cables, "cable is", "cables are").c_str());
  std::uint64_t hit = 0;
  for (const JobAnswer& answer : answers) hit += answer.is_hit ? 1 : 0;
  std::string scope;
  if (!question.drained.empty()) {
    scope = ", " + counted(question.drained.size(), "host", "hosts") + " with " + counted(hit, "job", "jobs");
  } else if (question.crossing) {
    scope = ", past which the traffic of " + counted(*question.crossing, "job", "jobs") + " takes other ways";
  }
  std::printf("%s%s\n", question.text.c_str(), scope.c_str());
  if (!question.refusal.empty()) {
    std::printf("no: %s\n", question.refusal.c_str());
    return;
  }
  std::vector<std::array<std::string, 5>> rows = {{"job", "GPUs", "iteration, now -> then", "ends in, now -> then", ""}};
  std::uint64_t same = 0;
  std::uint64_t idle = 0;
  for (const JobAnswer& answer : answers) {
    if (!differs(answer, at_s)) {
      same += answer.then.state == State::runs || answer.then.state == State::ended ? 1 : 0;
      idle += answer.then.state == State::waits ? 1 : 0;
      continue;
    }
    const JobSpec& spec = now.scenario.jobs[answer.job.index()];
    const auto value = [](const std::optional<double>& seconds) { return seconds ? readable(*seconds) : "?"; };
    std::string iteration;
    if (answer.now.iteration_s || answer.then.iteration_s) {
      iteration = value(answer.now.iteration_s) + " -> " + value(answer.then.iteration_s);
      if (answer.now.iteration_s && answer.then.iteration_s)
        iteration += ", " + percent(change(answer.now.iteration_s, answer.then.iteration_s));
    }
    const auto left = [&](const std::optional<double>& end_s) { return end_s ? readable(*end_s - at_s) : "?"; };
    std::string end = left(answer.now.end_s) + " -> " + left(answer.then.end_s);
    if (answer.now.end_s && answer.then.end_s) {
      const double later_s = *answer.then.end_s - *answer.now.end_s;
      end += std::string(", ") + (later_s < 0 ? "-" : "+") + readable(std::abs(later_s));
    }
    rows.push_back({spec.name, std::to_string(gpus_of(now, answer.job)), iteration, end, note_of(answer, question)});
  }
  std::array<std::size_t, 5> widths{};
  for (const auto& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) widths[column] = std::max(widths[column], row[column].size());
  }
  if (rows.size() > 1) {
    std::printf("\n");
    for (const auto& row : rows) {
      std::string text;
      for (std::size_t column = 0; column < row.size(); ++column) {
        text += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
      }
      std::printf("%s\n", text.substr(0, text.find_last_not_of(' ') + 1).c_str());
    }
    std::printf("\n");
  }
  std::string others = counted(same, "other job goes on", "other jobs go on") + " as they do";
  if (idle > 0) others += ", " + std::to_string(idle) + (idle == 1 ? " waits" : " wait") + " as before";
  std::printf("%s; looked at for %s\n", others.c_str(), readable(horizon.in_s()).c_str());
}

nlohmann::ordered_json to_json(const Outlook& outlook) {
  nlohmann::ordered_json json = {{"state", to_text(outlook.state)}};
  json["iteration_s"] = outlook.iteration_s ? nlohmann::ordered_json(*outlook.iteration_s) : nlohmann::ordered_json();
  json["end_s"] = outlook.end_s ? nlohmann::ordered_json(*outlook.end_s) : nlohmann::ordered_json();
  return json;
}

void print_json(const Fork& now, const Question& question, const std::vector<JobAnswer>& answers, Duration horizon, bool is_yes) {
  nlohmann::ordered_json json = {{"name", now.scenario.name},
                                 {"at_s", now.from.at.in_s()},
                                 {"horizon_s", horizon.in_s()},
                                 {"question", question.text},
                                 {"possible", is_yes}};
  if (!question.refusal.empty()) json["refusal"] = question.refusal;
  json["drained_hosts"] = nlohmann::ordered_json::array();
  for (const HostId host : question.drained) json["drained_hosts"].push_back("host" + std::to_string(host.index()));
  if (question.crossing) json["jobs_crossing"] = *question.crossing;
  if (!now.from.slow_cables.empty()) json["slow_cables"] = now.from.slow_cables.size();
  json["jobs"] = nlohmann::ordered_json::array();
  for (const JobAnswer& answer : answers) {
    const JobSpec& spec = now.scenario.jobs[answer.job.index()];
    nlohmann::ordered_json job = {{"job", spec.name},
                                  {"gpus", gpus_of(now, answer.job)},
                                  {"hit", answer.is_hit},
                                  {"now", to_json(answer.now)},
                                  {"then", to_json(answer.then)}};
    if (answer.waited_s) {
      job["starts_after_s"] = *answer.waited_s;
      job["placement"] = answer.placement;
    }
    json["jobs"].push_back(std::move(job));
  }
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

int predict(const PredictOptions& options) {
  const ParsedQuantity<Duration> horizon = parse_duration(options.horizon);
  if (!horizon.value || *horizon.value <= Duration::zero()) {
    fail("bad-value", "--horizon: " + (horizon.value ? "it is a time ahead" : horizon.error.message),
         SourcePlace::named("--horizon"), "write a duration such as 1h");
  }
  LoadedSnapshot loaded = read_snapshot(options.snapshot, options.settings);
  calm(loaded.scenario, loaded.snapshot.at);
  if (simulates_network(loaded.scenario.mode) && !loaded.snapshot.slow_cables.empty())
    loaded.scenario.topology = with_less(*loaded.scenario.topology, loaded.snapshot.slow_cables);
  std::shared_ptr<const KnownLinkDemands> link_demands;
  if (simulates_network(loaded.scenario.mode)) link_demands = link_demands_of(loaded.scenario, loaded.snapshot, options.threads);
  Fork now{loaded.scenario, loaded.snapshot, link_demands};
  Fork then{std::move(loaded.scenario), std::move(loaded.snapshot), link_demands};
  const Time until = now.from.at + *horizon.value;
  const Question question = options.drain.empty() ? ask_start(options.start, then) : ask_drain(options.drain, then, until);
  std::vector<JobAnswer> answers;
  bool is_yes = question.refusal.empty();
  if (is_yes) {
    look_ahead(now, then, until, options.threads);
    answers = compare(now, then, question);
    for (const JobAnswer& answer : answers) is_yes = is_yes && !(answer.is_hit && answer.then.state == State::waits);
  }
  if (options.json) {
    print_json(now, question, answers, *horizon.value, is_yes);
  } else {
    print(now, question, answers, *horizon.value);
  }
  return is_yes ? kExitDone : kExitNo;
}

}  // namespace

void add_predict_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand("predict", "Tell what a drain or a start would do to a running cluster");
  command->footer(
      "Examples:\n"
      "  weft run month.textproto --fast-forward=2 --snapshot=10d --until=10d --out=month\n"
      "  weft predict month/snapshot.textproto --drain=host12\n"
      "  weft predict month/snapshot.textproto --drain=agg3 --horizon=6h\n"
      "  weft predict month/snapshot.textproto --start=llm17 --json\n"
      "The cluster goes on from the snapshot twice, with and without what is asked about. Jobs on a host that is drained write a\n"
      "checkpoint and move, or end there, as maintenance.jobs says; a switch without which hosts are cut off drains these; past "
      "any\n"
      "other, transfers take other ways. In both futures nobody arrives, nothing fails, what is out of service stays out, spares\n"
      "among it, and only iterations that are needed to find a job's pace are simulated, as with --fast-forward.\n"
      "Exit status: 0 it can be done, 1 not: a job that has to move finds no place in time, or one that should start does not "
      "fit.");
  command->add_option("snapshot", options->snapshot, "Of `weft run --snapshot=TIME`")->type_name("SNAPSHOT.textproto")->required();
  CLI::Option* drain =
      command->add_option("--drain", options->drain, "A host or a switch, by its name in the topology: host3, leaf0")
          ->type_name("NODE");
  CLI::Option* start = command->add_option("--start", options->start, "A job that waits or has not arrived")->type_name("JOB");
  drain->excludes(start);
  command->add_option("--horizon", options->horizon, "How far to look ahead")->type_name("DURATION")->capture_default_str();
  command->add_option("--set", options->settings, "Module parameter, instead of the run's; repeatable")
      ->type_name("module.param=value")
      ->allow_extra_args(false);
  command->add_option("--threads", options->threads, "Threads that look ahead, 0: one per core; answers do not depend on them")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number<std::uint32_t>(0, 1024));
  command->add_flag("--json", options->json, "Print JSON, with all jobs");
  add_input_flags(*command);
  command->callback([options, &action] {
    if (options->drain.empty() && options->start.empty()) throw CLI::RequiredError("--drain=NODE or --start=JOB");
    action = [options] { return predict(*options); };
  });
}

}  // namespace weft
