#include "tools/simulation/scenario/unused_settings.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "host/collectives/collective.hpp"
#include "host/collectives/collective_library.hpp"
#include "host/ranks/host_entity.hpp"
#include "tools/simulation/congestion_report.hpp"
#include "tools/simulation/scenario/scenario.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"
#include "topologies/builders.hpp"

namespace weft {

namespace {

/// Job mode: whether times are measured on the network.
bool has_probes(const Scenario& scenario) {
  return std::ranges::any_of(scenario.jobs, [](const JobSpec& job) { return job.compute_share.has_value(); });
}

/// The modules that this run asks for parameters.
std::set<std::string, std::less<>> used_modules(const Scenario& scenario, bool has_builder) {
  std::set<std::string, std::less<>> used;
  if (has_builder) {
    for (const auto& builder : topology_builders()) used.emplace(builder.info.name);
  }
  const bool has_jobs = !scenario.flows;
  if (has_jobs) used.insert({"scheduler", scenario.policy, scenario.placement});
  if (has_jobs) used.insert({"failure", "maintenance", "checkpoint", "storage"});
  used.insert(scenario.handlers.begin(), scenario.handlers.end());
  for (const ParameterChange& change : scenario.changes) {
    if (change.name == "scheduler.policy" || change.name == "scheduler.placement") used.insert(change.value);
  }
  if (has_jobs) used.insert("host");
  if (scenario.mode == Mode::job && !has_probes(scenario)) return used;
  used.insert({"flow", scenario.parameters.of("flow").text("allocation")});
  if (scenario.mode == Mode::packet) {
    used.insert("packet");
    used.insert(scenario.parameters.of("packet").text("congestion_control"));
  }
  if (!has_jobs) return used;
  used.insert("collective");
  const ParamSet& collective = scenario.parameters.of("collective");
  if (CollectiveLibrary::uses_tuner(collective)) used.insert("nccl");
  for (const ParamSpec& spec : CollectiveLibrary::params()) {
    if (spec.kind != ParamKind::choice) continue;
    used.insert(collective.text(spec.name));
    if (!CollectiveLibrary::is_auto(collective, spec.name)) continue;
    if (spec.name == "protocol") {
      for (const auto& module : collective_protocols()) used.emplace(module.info.name);
    } else {
      // Rules of the user's own may name a program of the user's own; those built in do not.
      for (const auto& module : collective_algorithms()) {
        if (module.info.name != "program" || !collective.is_default("rules")) used.emplace(module.info.name);
      }
    }
  }
  return used;
}

bool has_host_folding(const Scenario& scenario) {
  return !scenario.flows && scenario.parameters.of("host").text("fold_ranks") == "on";
}

}  // namespace

std::set<std::string> note_unused_settings(Scenario& scenario, bool has_builder) {
  const auto used = used_modules(scenario, has_builder);
  const std::string run = (scenario.flows ? "a flow list in " : "this run in ") + std::string(to_text(scenario.mode)) + " mode";
  if (!scenario.parameters.preset().empty() && !used.contains("flow")) {
    scenario.assumptions.push_back("preset " + scenario.parameters.preset() + " changes nothing: " + run + " simulates no network");
  }
  std::set<std::string> unused;
  const auto note = [&](const std::string& module, std::string_view name, const std::string& because) {
    if (scenario.parameters.of(module).is_default(name) || scenario.parameters.is_of_preset(module, name)) return;
    unused.insert(module + "." + std::string(name));
    scenario.assumptions.push_back(module + "." + std::string(name) + " is set and changes nothing: " + because);
  };
  if (used.contains("collective") && scenario.parameters.of("collective").text("protocol") == "ideal") {
    scenario.assumptions.push_back(
        "collective.protocol is ideal: steps of collectives cost nothing beside the network's own time, and kernels keep every "
        "link busy");
  }
  if (used.contains("collective") && !CollectiveLibrary::uses_rules(scenario.parameters.of("collective"))) {
    note("collective", "rules", "no algorithm and no protocol is auto");
  }
  if (used.contains("scheduler") && scenario.parameters.of("scheduler").integer("fast_forward") > 0) {
    const bool has_workloads =
        std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [](const JobSpec& job) { return job.workload != nullptr; });
    if (!has_workloads) note("scheduler", "fast_forward", "no job runs a workload");
  }
  if (used.contains("failure")) {
    const bool has_drains = !scenario.maintenance.drains.empty() || !scenario.handlers.empty();
    if (!scenario.failures.has_failures()) {
      for (const char* name : {"weibull_shape", "scope", "detection", "repair"}) note("failure", name, "nothing fails");
    }
    if (!simulates_network(scenario.mode)) {
      for (const char* name : {"link_degraded_mtbf_hours", "flap_mtbf_hours", "reroute"})
        note("failure", name, "job mode knows no speeds of links");
    } else if (!scenario.failures.has_network_failures()) {
      note("failure", "reroute", "no switch and no link fails");
    }
    if (scenario.failures.degraded_mtbf_h == 0) note("failure", "link_degraded_factor", "no link degrades by chance");
    if (scenario.failures.flap_mtbf_h == 0) note("failure", "flap_duration", "no link flaps");
    if (scenario.failures.cold_spares == 0) note("failure", "cold_start", "there are no cold spares");
    if (!has_drains) {
      for (const char* name : {"notice", "jobs"}) note("maintenance", name, "there is no maintenance.plan");
    }
  }
  if (used.contains("checkpoint")) {
    const auto declares = [](const JobSpec& job) { return job.iterations > 0; };
    const auto declares_none = [](const JobSpec& job) { return job.iterations == 0; };
    if (std::none_of(scenario.jobs.begin(), scenario.jobs.end(), declares))
      note("checkpoint", "every", "no job declares iterations");
    if (std::none_of(scenario.jobs.begin(), scenario.jobs.end(), declares_none)) {
      note("checkpoint", "interval", "all jobs declare iterations, and go by checkpoint.every");
    }
  }
  if (used.contains("storage")) {
    const auto has_workload = [](const JobSpec& job) { return job.workload != nullptr; };
    if (!uses_storage(scenario)) {
      note("storage", "rate", "no job has data or checkpoints of a size");
    } else if (std::ranges::all_of(scenario.jobs, has_workload)) {
      note("storage", "rate", "data travels over the network");
    }
  }
  if (used.contains("flow")) {
    const std::string& routing = scenario.parameters.of("flow").text("routing");
    if (routing != "ecmp") note("flow", "source_ports", "only flow.routing = ecmp goes by them");
    if (routing != "static") note("flow", "routes", "only flow.routing = static goes by them");
    if (scenario.flows) note("flow", "detect_congestion", "a flow list has no jobs");
    if (scenario.mode == Mode::packet)
      note("flow", "detect_congestion", "flows have rates in flow mode only; links.csv has queues, marks and pauses");
    if (!detects_congestion(scenario)) note("flow", "congestion_gap", "no congestion is looked for");
    // Operations in switches choose their tree by hash, whatever the routing.
    if (routing == "static" && scenario.flows) note("flow", "ecmp_seed", "flow.routing = static hashes nothing");
  }
  if (scenario.mode == Mode::packet) {
    if (std::ranges::none_of(scenario.jobs, &JobSpec::is_in_flow_mode)) {
      note("flow", "share", "in packet mode queue pairs share links packet by packet");
      note("packet", "beside_flows_min", "no job is in flow mode");
    }
    const ParamSet& packet = scenario.parameters.of("packet");
    const std::string& congestion_control = packet.text("congestion_control");
    if (congestion_control == "dctcp" || congestion_control == "hpcc" || congestion_control == "swift") {
      note("packet", "ack_interval", "with packet.congestion_control = " + congestion_control + " every packet is answered");
    }
    if (congestion_control != "dcqcn" || packet.text("window") == "none") {
      note("packet", "window_scaling", "only a window under dcqcn follows a rate");
    }
    note("flow", "forwarding", "switches of packet mode store and forward");
    if (scenario.parameters.of("flow").text("routing") != "adaptive")
      note("packet", "adaptive_band", "flow.routing is not adaptive");
    if (packet.text("slow_hosts") == "none") note("packet", "receive_buffer", "no host is slow (packet.slow_hosts)");
    if (packet.duration("retransmission_timeout") == Duration::zero()) {
      for (const char* name : {"retries", "adaptive_retransmission"})
        note("packet", name, "packet.retransmission_timeout is 0: never");
    } else if (packet.text("lossy") == "none" && packet.text("adaptive_retransmission") == "off") {
      note("packet", "adaptive_retransmission", "no priority is lossy (packet.lossy)");
    }
    if (packet.duration("watchdog") == Duration::zero()) note("packet", "watchdog_restoration", "packet.watchdog is off");
  }
  if (scenario.mode == Mode::packet && has_host_folding(scenario)) {
    scenario.assumptions.push_back("host.fold_ranks is on and changes nothing: in packet mode every rank is simulated");
  }
  if (scenario.mode == Mode::job && !has_probes(scenario)) {
    for (const ParamSpec& spec : host_params()) {
      if (!spec.name.starts_with("straggler")) note("host", spec.name, "job mode simulates no ranks");
    }
  }
  if (scenario.mode == Mode::packet) note("host", "fold_tolerance", "in packet mode every rank is simulated");
  if (scenario.mode == Mode::flow && used.contains("host")) {
    const bool is_off = scenario.parameters.of("host").text("fold_ranks") == "off";
    const bool is_max_min = scenario.parameters.of("flow").text("allocation") == "max_min";
    if (is_off) note("host", "fold_tolerance", "host.fold_ranks is off");
    if (!is_off && !is_max_min) note("host", "fold_tolerance", "ranks are folded only where rates are max-min fair");
  }
  for (const ParamSet& set : scenario.parameters.all()) {
    if (used.contains(set.module())) continue;
    for (const ParamSpec& spec : set.table()) {
      note(set.module(), spec.name, run + " does not use " + set.module());
    }
  }
  return unused;
}

}  // namespace weft
