// SPDX-License-Identifier: Apache-2.0
// `weft modules`: what can be chosen by name, with every parameter.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <deque>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/search.hpp"
#include "core/text/printed_json.hpp"
#include "host/collectives/collective.hpp"
#include "host/collectives/collective_library.hpp"
#include "host/collectives/collective_rules.hpp"
#include "host/collectives/nccl_tuner.hpp"
#include "host/op_times/analytical_times.hpp"
#include "host/op_times/gpu.hpp"
#include "host/op_times/gpu_presets.hpp"
#include "host/presets.hpp"
#include "host/ranks/host_settings.hpp"
#include "host/transport/congestion_control.hpp"
#include "host/transport/packet_settings.hpp"
#include "network/flow/flow_fabric.hpp"
#include "network/max_min/allocation_policy.hpp"
#include "scheduler/failures/failure_plan.hpp"
#include "scheduler/failures/maintenance_plan.hpp"
#include "scheduler/handlers/event_handler.hpp"
#include "scheduler/lifecycle/progress_model.hpp"
#include "scheduler/lifecycle/scheduler_settings.hpp"
#include "scheduler/lifecycle/storage.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"
#include "tools/projections/site_simulation.hpp"
#include "tools/simulation/scenario/module_uses.hpp"
#include "tools/simulation/scenario/nccl_rules.hpp"
#include "tools/simulation/scenario/parameters.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/validators.hpp"
#include "topologies/builders.hpp"
#include "topologies/builders/server_presets.hpp"
#include "topologies/topology_reader.hpp"
#include "workloads/decentralized/closed_forms.hpp"
#include "workloads/formats/workload_reader.hpp"
#include "workloads/job_templates/job_templates.hpp"
#include "workloads/job_traces/job_trace_reader.hpp"
#include "workloads/measurements/measurement_tables.hpp"
#include "workloads/models/model_reader.hpp"
#include "workloads/plans/plan_reader.hpp"
#include "workloads/schedules/pipeline_schedules.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft {

namespace {

template <class List>
void append(std::vector<ModuleInfo>& all, const List& modules) {
  for (const auto& module : modules) all.push_back(module.info);
}

/// `texts` keeps the summaries.
template <class List>
void append_presets(std::vector<ModuleInfo>& all, std::deque<std::string>& texts, std::string_view kind, const List& presets,
                    std::vector<std::string> summaries) {
  std::size_t i = 0;
  for (const auto& preset : presets) all.push_back({kind, preset.name, texts.emplace_back(std::move(summaries[i++])), {}});
}

/// `texts` keeps what is made up here.
std::vector<ModuleInfo> all_modules(std::deque<std::string>& texts) {
  std::vector<ModuleInfo> all;
  append(all, topology_builders());
  for (const ModuleInfo& server : server_presets()) all.push_back(server);
  for (const auto& format : topology_formats()) all.push_back({"topology-format", format.name, format.summary, {}});
  for (const auto& format : workload_formats()) all.push_back({"workload-format", format.name, format.summary, {}});
  for (const auto& format : job_trace_formats()) all.push_back({"job-format", format.name, format.summary, {}});
  for (const auto& table : measurement_tables()) all.push_back({"measurement-format", table.name, table.summary, {}});
  append(all, workload_templates());
  append(all, job_templates());
  append(all, pipeline_schedules());
  append_presets(all, texts, "model", model_presets(), model_summaries());
  append_presets(all, texts, "plan", plan_presets(), plan_summaries());
  all.push_back({"network", "flow",
                 "What flow and packet mode have in common (latencies, packet format, queue pairs, routing), and how flow mode "
                 "shares the links.",
                 flow_params()});
  all.push_back(
      {"network", "wan", "Lines between sites: what TCP has of them, and what else slows transfers down there.", wan_params()});
  all.push_back({"network", "packet",
                 "Packet mode: every packet from card to card, through switches with shared buffers, pauses (PFC) and marks (ECN).",
                 packet_params()});
  append(all, congestion_algorithms());
  append(all, allocation_policies());
  all.push_back({"host", "host", "Servers: what it costs a rank to compute and to reduce.", host_params()});
  all.push_back(
      {"host", "collective", "Which algorithm carries out which collective, by which protocol.", CollectiveLibrary::params()});
  all.push_back({"host", "nccl", "NCCL's tuner, which picks what is auto where collective.rule_set = nccl.", nccl_params()});
  for (const ModuleInfo& machine : nccl_machines()) all.push_back(machine);
  append(all, collective_algorithms());
  append(all, collective_protocols());
  all.push_back({"operator-times", "analytical", "Operator times from shapes and the numbers of a GPU: which kernels it runs.",
                 analytical_params()});
  all.push_back(
      {"operator-times", "gpu",
       "The GPU of analytical operator times: peaks, memory, caches, and what it sustains. A GPU of one's own is a preset "
       "with other numbers.",
       gpu_params()});
  for (const ModuleInfo& gpu : gpu_presets()) all.push_back(gpu);
  all.push_back({"projection", "decentralized", "Training across sites by closed forms (weft project decentralized).",
                 decentralized_params()});
  all.push_back({"projection", "sites", "The simulated world of training across sites (weft project decentralized --simulate).",
                 site_world_params()});
  for (const ModuleInfo& preset : run_presets()) all.push_back(preset);
  all.push_back({"control", "scheduler", "The scheduler as a node: how long its messages take.", scheduler_params()});
  all.push_back({"control", "checkpoint", "What a job keeps of its work when it is preempted or fails.", checkpoint_params()});
  all.push_back({"control", "failure", "Which parts of the cluster fail when, and what stands in for them.", failure_params()});
  all.push_back({"control", "storage", "Where the data and the checkpoints of jobs lie.", storage_params()});
  all.push_back({"control", "maintenance", "Which hosts are drained when.", maintenance_params()});
  append(all, scheduling_policies());
  append(all, placers());
  append(all, event_handlers());
  append(all, searches());
  return all;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::string line;
  const std::string margin(indent, ' ');
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      out += fmt::format("{}{}\n", margin, line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(word);
    if (space == std::string_view::npos) break;
    text.remove_prefix(space + 1);
  }
  return out + (line.empty() ? "" : fmt::format("{}{}\n", margin, line));
}

/// A sentence without its final stop.
std::string_view unstopped(std::string_view sentence) {
  if (sentence.ends_with('.')) sentence.remove_suffix(1);
  return sentence;
}

std::string range_text(const ParamSpec& spec) {
  if (!spec.choices.empty()) return std::string(spec.choices);
  if (spec.minimum.empty() && spec.maximum.empty()) return "";
  return fmt::format("{} .. {}", spec.minimum.empty() ? "any" : spec.minimum, spec.maximum.empty() ? "any" : spec.maximum);
}

/// In which runs the module is used; none where it is in all.
std::vector<std::string> uses_of(const ModuleInfo& module) {
  std::vector<std::string> conditions;
  for (const ModuleUse& use : module_uses()) {
    if (use.kind == module.kind && use.name == module.name) conditions.push_back(use.condition);
  }
  return conditions;
}

void print_uses(const ModuleInfo& module) {
  std::string text;
  for (const std::string& condition : uses_of(module)) text += (text.empty() ? "Used where " : ", or where ") + condition;
  if (!text.empty()) std::cout << wrapped(text + ".", 2, 110);
}

void print_text(const std::vector<ModuleInfo>& modules) {
  std::string_view kind;
  for (const ModuleInfo& module : modules) {
    if (module.kind != kind) std::cout << (kind.empty() ? "" : "\n") << "# " << module.kind << "\n";
    kind = module.kind;
    std::cout << "\n" << module.name << "\n" << wrapped(module.summary, 2, 110);
    print_uses(module);
    for (const ParamSpec& spec : module.params) {
      std::cout << "  " << module.name << "." << spec.name << " = " << spec.default_text << "    (" << to_text(spec.kind);
      if (const std::string range = range_text(spec); !range.empty()) std::cout << ", " << range;
      std::cout << ")\n" << wrapped(fmt::format("{}. Origin: {}.", unstopped(spec.meaning), unstopped(spec.origin)), 6, 110);
      if (!spec.fit.minimum.empty())
        std::cout << fmt::format("      May be fitted, from {} to {}.\n", spec.fit.minimum, spec.fit.maximum);
      for (const UnusedWhen& when : unused_of(module.name, spec))
        std::cout << wrapped(fmt::format("Unused where {}: {}.", when.condition, when.because), 6, 110);
    }
    for (const NamedValue& value : module.values) {
      std::cout << "  " << value.name << " = " << value.value << "\n"
                << wrapped(fmt::format("Origin: {}.", unstopped(value.origin)), 6, 110);
    }
  }
}

void print_json(const std::vector<ModuleInfo>& modules) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const ModuleInfo& module : modules) {
    nlohmann::ordered_json params = nlohmann::ordered_json::array();
    for (const ParamSpec& spec : module.params) {
      params.push_back({{"name", spec.name},
                        {"kind", to_text(spec.kind)},
                        {"default", spec.default_text},
                        {"minimum", spec.minimum},
                        {"maximum", spec.maximum},
                        {"choices", spec.choices},
                        {"meaning", spec.meaning},
                        {"origin", spec.origin}});
      if (!spec.fit.minimum.empty()) {
        params.back()["fit"] = {
            {"minimum", spec.fit.minimum}, {"maximum", spec.fit.maximum}, {"logarithmic", spec.fit.is_logarithmic}};
      }
      for (const UnusedWhen& when : unused_of(module.name, spec))
        params.back()["unused"].push_back({{"where", when.condition}, {"because", when.because}});
    }
    json.push_back({{"kind", module.kind}, {"name", module.name}, {"summary", module.summary}, {"params", params}});
    if (const std::vector<std::string> uses = uses_of(module); !uses.empty()) json.back()["used_where"] = uses;
    for (const NamedValue& value : module.values) {
      json.back()["values"].push_back({{"name", value.name}, {"value", value.value}, {"origin", value.origin}});
    }
  }
  std::cout << printed_json(json) << "\n";
}

/// A line for each: kind, name, and the first sentence of its summary.
void print_names(const std::vector<ModuleInfo>& modules) {
  std::size_t kind_width = 0;
  std::size_t name_width = 0;
  for (const ModuleInfo& module : modules) {
    kind_width = std::max(kind_width, module.kind.size());
    name_width = std::max(name_width, module.name.size());
  }
  const auto padded = [](std::string_view text, std::size_t width) {
    return std::string(text) + std::string(width - text.size() + 2, ' ');
  };
  for (const ModuleInfo& module : modules) {
    const std::string_view summary = module.summary;
    std::cout << padded(module.kind, kind_width) << padded(module.name, name_width)
              << unstopped(summary.substr(0, summary.find(". "))) << "\n";
  }
}

/// `flow.mtu`: the module with that parameter alone; none if no module has such a name. Throws
/// InputError [unknown-parameter].
std::optional<ModuleInfo> with_parameter(const std::vector<ModuleInfo>& modules, const std::string& wanted) {
  const std::size_t dot = wanted.find('.');
  if (dot == std::string::npos) return std::nullopt;
  bool is_module = false;
  std::vector<std::string> known;
  // A format and a module may have one name.
  for (ModuleInfo module : modules) {
    if (module.name != wanted.substr(0, dot)) continue;
    is_module = true;
    const auto spec = std::ranges::find(module.params, wanted.substr(dot + 1), &ParamSpec::name);
    if (spec != module.params.end()) {
      module.params = ParamTable(&*spec, 1);
      module.values = {};
      return module;
    }
    for (const ParamSpec& other : module.params) known.push_back(fmt::format("{}.{}", module.name, other.name));
  }
  if (!is_module) return std::nullopt;
  fail("unknown-parameter", fmt::format("there is no parameter {}", in_quotes(wanted)), SourcePlace::named("weft modules"),
       suggestion(wanted, known, "parameter"));
}

enum class ModulesFormat : std::uint8_t { text, names, json };

int print_modules(const std::string& wanted, ModulesFormat format) {
  std::deque<std::string> texts;
  std::vector<ModuleInfo> modules = all_modules(texts);
  if (const std::optional<ModuleInfo> one = with_parameter(modules, wanted)) {
    modules = {*one};
  } else if (!wanted.empty()) {
    std::vector<std::string> known;
    for (const ModuleInfo& module : modules) {
      for (const std::string_view name : {module.kind, module.name}) {
        if (std::find(known.begin(), known.end(), name) == known.end()) known.emplace_back(name);
      }
    }
    std::erase_if(modules, [&](const ModuleInfo& module) { return module.kind != wanted && module.name != wanted; });
    if (modules.empty()) {
      fail("unknown-module", fmt::format("there is no kind or module \"{}\"", wanted), SourcePlace::named("weft modules"),
           suggestion(wanted, known, "kind"));
    }
  }
  if (format == ModulesFormat::json) {
    print_json(modules);
  } else if (format == ModulesFormat::names) {
    print_names(modules);
  } else {
    print_text(modules);
  }
  return exit_done;
}

/// Which rules `weft modules --rules` prints.
struct RulesOptions {
  std::string rule_set;  ///< "" none, "all", or one of collective.rule_set
  std::string machine;   ///< "" all
  std::vector<std::string> settings;
};

int print_rules(const RulesOptions& options) {
  if (options.rule_set != "fastest") {
    const SourcePlace place = SourcePlace::named("weft modules --rules");
    std::vector<ModuleInfo> machines(nccl_machines().begin(), nccl_machines().end());
    if (!options.machine.empty()) {
      std::vector<std::string> known;
      for (const ModuleInfo& machine : machines) known.emplace_back(machine.name);
      std::erase_if(machines, [&](const ModuleInfo& machine) { return machine.name != options.machine; });
      if (machines.empty()) {
        fail("unknown-machine", fmt::format("there is no machine \"{}\"", options.machine), place,
             suggestion(options.machine, known, "machine"));
      }
    }
    ParamSet nccl("nccl", nccl_params());
    set_from_flags(nccl, options.settings);
    std::cout << nccl_rules_text(machines, nccl);
  }
  if (options.rule_set == "all") std::cout << "\n";
  if (options.rule_set != "nccl") std::cout << built_in_rules_text();
  return exit_done;
}

}  // namespace

void add_modules_command(CLI::App& app, Action& action) {
  auto kind = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  auto only_names = std::make_shared<bool>(false);
  auto rules = std::make_shared<RulesOptions>();
  CLI::App* command =
      app.add_subcommand("modules", "List what can be chosen by name, with every parameter, its default and its origin");
  command->footer(
      "Examples:\n  weft modules --names\n  weft modules topology\n  weft modules flow\n  weft modules flow.mtu\n  weft modules "
      "--json\n"
      "  weft modules --rules=nccl --machine=hgx_h100\n"
      "  weft modules --rules=fastest > rules.textproto");
  command->add_option("kind", *kind, "Only this kind (topology, scheduler, collective, ...), this module or this parameter")
      ->type_name("KIND|MODULE|PARAMETER");
  CLI::Option* json = command->add_flag("--json", *as_json, "Print JSON");
  CLI::Option* names = command->add_flag("--names", *only_names, "Print kinds and names only, a line each")->excludes(json);
  CLI::Option* rule_set =
      command
          ->add_option("--rules", rules->rule_set,
                       "Print how auto picks collective algorithms: what rule set nccl takes at which size on which machine, and "
                       "the rules of "
                       "fastest as a file that collective.rules takes; only one of them by --rules=nccl or --rules=fastest")
          ->type_name("SET")
          ->expected(0, 1)
          ->check(one_of({"all", "nccl", "fastest"}))
          ->excludes(json)
          ->excludes(names)
          ->excludes("kind");
  command->add_option("--machine", rules->machine, "With --rules: only this one of `weft modules machine`")
      ->type_name("NAME")
      ->needs(rule_set);
  command->add_option("--set", rules->settings, "With --rules: a parameter of `weft modules nccl`, repeatable")
      ->type_name("nccl.PARAM=VALUE")
      ->needs(rule_set);
  command->callback([kind, as_json, only_names, rules, rule_set, &action] {
    if (rule_set->count() > 0 && rules->rule_set.empty()) rules->rule_set = "all";
    const ModulesFormat format = *as_json ? ModulesFormat::json : *only_names ? ModulesFormat::names : ModulesFormat::text;
    action = [kind, format, rules] { return rules->rule_set.empty() ? print_modules(*kind, format) : print_rules(*rules); };
  });
}

}  // namespace weft
