// SPDX-License-Identifier: Apache-2.0
#include "tools/projections/projected_cluster.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/params.hpp"
#include "core/text/preset_text.hpp"
#include "host/op_times/analytical_times.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "tools/simulation/scenario/service.hpp"
#include "tools/simulation/scenario/storage_entries.hpp"
#include "tools/simulation/scenario/unused_settings.hpp"
#include "topologies/builders.hpp"
#include "topologies/builders/server_presets.hpp"

namespace weft {

namespace {

constexpr std::string_view server_builder = "rail_optimized";

const Module<TopologyFactory>& builder_module(std::string_view name) {
  const auto modules = topology_builders();
  return *std::ranges::find_if(modules, [&](const auto& module) { return module.info.name == name; });
}

bool is_set(const std::vector<std::string>& settings, std::string_view name) {
  return std::ranges::any_of(settings, [&](const std::string& text) { return text.starts_with(fmt::format("{}=", name)); });
}

/// Servers of a kind on a fabric of their own.
Scenario cluster_of_servers(const ClusterRequest& request, const SourcePlace& place) {
  Scenario scenario;
  const Module<TopologyFactory>& builder = builder_module(server_builder);
  scenario.parameters.add_builder(ParamSet(std::string(server_builder), builder.info.params));
  const auto apply = [&](std::string_view param, const std::string& value) {
    const std::string name = fmt::format("{}.{}", server_builder, param);
    if (!is_set(request.settings, name)) scenario.parameters.apply(name, value, place);
  };
  apply("server", request.name);
  scenario.parameters.apply_flags(request.settings);
  const auto gpus_per_host =
      static_cast<std::uint64_t>(with_named_server(scenario.parameters.of(server_builder), place).integer("gpus_per_host"));
  const std::uint64_t hosts = request.hosts > 0 ? request.hosts : (request.gpus + gpus_per_host - 1) / gpus_per_host;
  apply("hosts", std::to_string(hosts));
  scenario.parameters.fill_in_preset();
  scenario.topology = builder.make(scenario.parameters.of(server_builder), place);
  scenario.mode = Mode::flow;
  read_service(scenario);
  read_storage(scenario);
  note_unused_settings(scenario);
  return scenario;
}

Scenario cluster_of_file(const ClusterRequest& request) {
  RunFlags flags;
  flags.jobs_follow = true;
  flags.settings = request.settings;
  const RecognisedInput input = recognise_input(request.name);
  (input.kind == InputKind::topology ? flags.topology : flags.scenario_file) =
      input.kind == InputKind::topology ? request.name : input.file;
  flags.mode = "flow";
  return load_scenario(flags, Probing::forbidden);
}

}  // namespace

Scenario load_cluster(const ClusterRequest& request, const SourcePlace& place) {
  const auto servers = server_presets();
  const bool is_server = std::ranges::any_of(servers, [&](const ModuleInfo& info) { return info.name == request.name; });
  const bool is_file = names_file(request.name) || request.name.find(':') != std::string::npos;
  if (!is_server && !is_file) {
    std::vector<std::string> names;
    for (const ModuleInfo& info : servers) names.emplace_back(info.name);
    fail("unknown-cluster", fmt::format("there is no server {}", in_quotes(request.name)), place,
         fmt::format("{}; or a topology or scenario FILE", suggestion(request.name, names, "server")));
  }
  Scenario scenario = is_server ? cluster_of_servers(request, place) : cluster_of_file(request);
  if (scenario.topology == nullptr) {
    fail("no-topology", fmt::format("{} has no topology", request.name), place,
         "projections go by the fabric: add topology { builder: \"rail_optimized\" }");
  }
  const std::uint64_t gpus = serving_cluster(scenario).gpu_count();
  const std::uint64_t needed = request.hosts > 0 ? request.hosts * scenario.topology->endpoints_of(HostId(0)).size() : request.gpus;
  if (gpus < needed) {
    fail("cluster-too-small", fmt::format("the plan takes {}, and the cluster has {}", counted(needed, "GPU", "GPUs"), gpus), place,
         "fewer GPUs, or more hosts");
  }
  return scenario;
}

NetworkFormula network_formula(const Scenario& cluster) {
  return {*cluster.topology, cluster.parameters.of("nccl"), FlowSettings(cluster.parameters.of("flow"), cluster.seed)};
}

std::vector<std::string> take_module_settings(std::vector<std::string>& settings) {
  const Parameters known;
  std::vector<std::string> taken;
  std::erase_if(settings, [&](const std::string& text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string::npos || dot > text.find('=')) return false;
    const std::string module = text.substr(0, dot);
    const auto builders = topology_builders();
    const bool is_module = known.has(module) || module == "topology" ||
                           std::ranges::any_of(builders, [&](const auto& builder) { return builder.info.name == module; });
    if (is_module) taken.push_back(text);
    return is_module;
  });
  return taken;
}

OperatorParams operator_params(std::span<const std::string> settings) {
  std::vector<std::string> of_gpu;
  std::vector<std::string> of_model;
  for (const std::string& setting : settings) (setting.starts_with("gpu.") ? of_gpu : of_model).push_back(setting);
  OperatorParams params{ParamSet("gpu", gpu_params()), ParamSet("analytical", analytical_params())};
  set_from_flags(params.gpu, of_gpu);
  set_from_flags(params.analytical, of_model);
  return params;
}

}  // namespace weft
