// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/topology_entries.hpp"

#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tools/simulation/scenario/entry_fields.hpp"
#include "tools/simulation/scenario/input_kind.hpp"
#include "tools/simulation/scenario/named_files.hpp"
#include "topologies/topology_reader.hpp"

namespace weft {

namespace {

void read_topology(Loading& loading, const scenario::Topology& topology, const Module<TopologyFactory>* builder,
                   const SourcePlace& place, const FieldPlaces& inside) {
  require((builder != nullptr) != !topology.file().empty(), "topology-source",
          "a topology is either built by name or read from a file", place,
          "give one of builder: \"fat_tree\" and file: \"my.textproto\"");
  if (builder != nullptr) {
    require(topology.format().empty(), "unused-field", "a format is of a topology's file, and this one has a builder",
            inside.of(topology, "format"), "drop it");
    loading.scenario.topology = builder->make(loading.scenario.parameters.of(builder->info.name), inside.of(topology, "builder"));
    return;
  }
  require(topology.set_size() == 0, "unused-field", "set says something about a builder, which is not given",
          inside.of(topology, "set"), "drop it, or give builder: \"...\" instead of the file");
  const bool is_textproto = topology.file().ends_with(".textproto") || topology.file().ends_with(".textproto.gz");
  require(is_textproto || !topology.format().empty(), "missing-field", "the format of this topology is not given",
          inside.of(topology, "file"),
          "add format: \"...\"; `weft modules topology-format` lists them, and only *.textproto files are known by their ending");
  read_named_file(loading, topology, inside, [&] {
    take_topology_file(loading, loading.beside_scenario(topology.file()), topology.format());
    return true;
  });
}

}  // namespace

void open_topology_file(Loading& loading, const std::string& path, const std::string& format) {
  try {
    TopologyOrBuilder read = load_topology_or_builder(path, format);
    if (const auto* builder = std::get_if<BuilderOfFile>(&read)) loading.scenario.parameters.add_builder(builder->params);
    loading.topology_file = std::move(read);
  } catch (const InputError& error) {
    loading.topology_file = error;
  }
}

void take_topology_file(Loading& loading, const std::string& path, const std::string& format) {
  if (const auto* error = std::get_if<InputError>(&loading.topology_file)) throw InputError(*error);
  Scenario& scenario = loading.scenario;
  const auto& read = std::get<TopologyOrBuilder>(loading.topology_file);
  if (const auto* builder = std::get_if<BuilderOfFile>(&read)) {
    scenario.topology = builder->module->make(scenario.parameters.of(builder->params.module()), builder->place);
  } else {
    scenario.topology = std::get<std::shared_ptr<const Topology>>(read);
  }
  for (const std::string& assumption : scenario.topology->assumptions())
    scenario.assumptions.push_back(fmt::format("{}: {}", path, assumption));
  scenario.manifest.add_input("topology", path, format);
}

const Module<TopologyFactory>* choose_builder(Loading& loading, const scenario::Scenario& message, const FieldPlaces& places) {
  const scenario::Topology& topology = message.topology();
  const bool is_used = loading.flags.topology.empty();
  if (!is_used) {
    const FileAndFormat other = split_format(loading.flags.topology);
    open_topology_file(loading, other.file, other.format);
  } else if (!topology.file().empty()) {
    open_topology_file(loading, loading.beside_scenario(topology.file()), topology.format());
  }
  if (topology.builder().empty()) return nullptr;
  const FieldPlaces inside = places.inside(message, "topology");
  const auto& module = find_module(topology_builders(), topology.builder(), inside.of(topology, "builder"));
  ParamSet params = params_of(module.info, topology, inside);
  if (is_used) {
    loading.scenario.parameters.add_builder(std::move(params));
  } else if (!loading.scenario.parameters.has(params.module())) {
    // What is set of it is told to be of no use.
    loading.scenario.parameters.add(std::move(params));
  }
  return &module;
}

void read_place(Loading& loading, const scenario::Scenario& message, const Module<TopologyFactory>* builder,
                const FieldPlaces& places) {
  const SourcePlace cluster_place = places.of(message, "cluster");
  require(!message.has_topology() || !message.has_cluster(), "topology-and-cluster",
          "a scenario has a topology or a cluster, not both", cluster_place,
          "drop the cluster: the topology's hosts are the cluster");
  if (message.has_topology())
    read_topology(loading, message.topology(), builder, places.of(message, "topology"), places.inside(message, "topology"));
  if (message.has_cluster()) {
    const scenario::Cluster& cluster = message.cluster();
    require(cluster.hosts() > 0 && cluster.gpus_per_host() > 0, "empty-cluster", "a cluster needs hosts and gpus_per_host",
            cluster_place, "for example cluster { hosts: 8 gpus_per_host: 8 }");
    loading.scenario.hosts = cluster.hosts();
    loading.scenario.gpus_per_host = cluster.gpus_per_host();
  }
}

}  // namespace weft
