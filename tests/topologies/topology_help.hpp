// SPDX-License-Identifier: Apache-2.0
// Shorthand of the topology tests: build by name and settings, find nodes by name, catch
// diagnostics.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "topologies/builders.hpp"
#include "topologies/searched_routes.hpp"
#include "topologies/topology.hpp"

namespace weft {

using Settings = std::vector<std::pair<std::string, std::string>>;

inline std::shared_ptr<const Topology> build_named(const std::string& builder, const Settings& settings) {
  const auto& module = find_module(topology_builders(), builder, {});
  ParamSet params(builder, module.info.params);
  for (const auto& [name, value] : settings) params.set(name, value, {});
  return module.make(params, {});
}

/// What to build, as a test's parameter.
struct Instance {
  std::string builder;
  Settings settings;
};

inline void PrintTo(const Instance& instance, std::ostream* out) {
  *out << instance.builder;
  for (const auto& [name, value] : instance.settings) *out << ' ' << name << '=' << value;
}

/// The routes that came with the topology are those that a search finds, from every node to every
/// endpoint.
inline void expect_searched_routes(const Topology& topology) {
  const auto searched = searched_routes(topology);
  std::vector<LinkId> built_hops;
  std::vector<LinkId> searched_hops;
  for (const NodeId destination : topology.endpoints()) {
    for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
      const NodeId at(i);
      if (at == destination) continue;
      topology.routes().next_hops(topology, at, destination, built_hops);
      searched->next_hops(topology, at, destination, searched_hops);
      ASSERT_EQ(built_hops, searched_hops) << topology.node_name(at) << " to " << topology.node_name(destination);
    }
  }
}

inline NodeId node_named(const Topology& topology, const std::string& name) {
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (topology.node_name(NodeId(i)) == name) return NodeId(i);
  }
  throw std::runtime_error("no node " + name);
}

/// The codes of the errors that `action` throws, in order; empty if it throws none.
template <class Action>
std::vector<std::string> codes_of(Action action) {
  std::vector<std::string> codes;
  try {
    action();
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) codes.push_back(diagnostic.code);
  }
  return codes;
}

/// The text of the errors that `action` throws, as the user sees it.
template <class Action>
std::string errors_of(Action action) {
  std::string text;
  try {
    action();
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) text += diagnostic.to_text();
  }
  return text;
}

}  // namespace weft
