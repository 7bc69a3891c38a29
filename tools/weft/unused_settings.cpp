#include "tools/weft/unused_settings.hpp"

#include <functional>
#include <set>
#include <string>

#include "host/collective_library.hpp"
#include "host/collectives/collective.hpp"
#include "tools/weft/scenario.hpp"
#include "topologies/builders.hpp"

namespace weft {

namespace {

/// The modules that this run asks for parameters.
std::set<std::string, std::less<>> used_modules(const Scenario& scenario, bool has_builder) {
  std::set<std::string, std::less<>> used;
  if (has_builder) {
    for (const auto& builder : topology_builders()) used.emplace(builder.info.name);
  }
  const bool has_jobs = !scenario.flows;
  if (has_jobs) used.insert({"scheduler", scenario.policy, scenario.placement});
  if (scenario.mode == Mode::job) return used;
  used.insert({"flow", scenario.parameters.of("flow").text("allocation")});
  if (scenario.mode == Mode::packet) {
    used.insert("packet");
    used.insert(scenario.parameters.of("packet").text("congestion_control"));
  }
  if (!has_jobs) return used;
  used.insert({"host", "collective"});
  const ParamSet& collective = scenario.parameters.of("collective");
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

void note_unused_settings(Scenario& scenario, bool has_builder) {
  const auto used = used_modules(scenario, has_builder);
  const std::string run = (scenario.flows ? "a flow list in " : "this run in ") + std::string(to_text(scenario.mode)) + " mode";
  if (!scenario.parameters.preset().empty() && !used.contains("flow")) {
    scenario.assumptions.push_back("preset " + scenario.parameters.preset() + " changes nothing: " + run + " simulates no network");
  }
  const ParamSet& collective = scenario.parameters.of("collective");
  if (used.contains("collective") && !collective.is_default("rules") && !CollectiveLibrary::uses_rules(collective)) {
    scenario.assumptions.push_back("collective.rules is set and changes nothing: no algorithm and no protocol is auto");
  }
  if (scenario.mode == Mode::packet && !scenario.parameters.of("flow").is_default("share")) {
    scenario.assumptions.push_back(
        "flow.share is set and changes nothing: in packet mode queue pairs share links packet by packet");
  }
  if (scenario.mode == Mode::packet && has_host_folding(scenario)) {
    scenario.assumptions.push_back("host.fold_ranks is on and changes nothing: in packet mode every rank is simulated");
  }
  for (const ParamSet& set : scenario.parameters.all()) {
    if (used.contains(set.module())) continue;
    for (const ParamSpec& spec : set.table()) {
      if (set.is_default(spec.name) || scenario.parameters.is_of_preset(set.module(), spec.name)) continue;
      scenario.assumptions.push_back(set.module() + "." + std::string(spec.name) + " is set and changes nothing: " + run +
                                     " does not use " + set.module());
    }
  }
}

}  // namespace weft
