// SPDX-License-Identifier: Apache-2.0
// Helpers of the templates' tests: workloads by name and settings, their ops by name, and what they
// communicate.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/workloads/workload_testing.hpp"
#include "workloads/dag/summary.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft::template_testing {

using Settings = std::vector<std::pair<std::string, std::string>>;

inline Workload make(const std::string& name, const Settings& settings = {}) {
  const SourcePlace place = SourcePlace::named("test");
  const auto& module = find_module(workload_templates(), name, place);
  ParamSet params(name, module.info.params);
  for (const auto& [key, value] : settings) params.set(key, value, place);
  return module.make(params, place);
}

inline std::string errors_in(const std::string& name, const Settings& settings) {
  return errors_of([&] { make(name, settings); });
}

inline const RoleDag& role(const Workload& workload, std::size_t index = 0) { return workload.roles[index]; }

/// None: the size of the DAG.
inline std::uint32_t find_op(const RoleDag& dag, std::string_view name) {
  std::uint32_t i = 0;
  while (i < dag.size() && dag.name(OpId(i)) != name) ++i;
  return i;
}
inline bool has_op(const RoleDag& dag, std::string_view name) { return find_op(dag, name) < dag.size(); }
inline std::uint32_t index_of(const RoleDag& dag, std::string_view name) {
  if (has_op(dag, name)) return find_op(dag, name);
  ADD_FAILURE() << "no op " << name;
  return 0;
}
inline Op op_named(const RoleDag& dag, std::string_view name) { return dag.op(OpId(index_of(dag, name))); }

/// Does `later` wait for `earlier`, directly or not?
inline bool follows(const RoleDag& dag, std::string_view later, std::string_view earlier) {
  std::vector<bool> reached(dag.size(), false);
  reached[index_of(dag, earlier)] = true;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (!reached[i]) continue;
    for (const OpId next : dag.successors(OpId(i))) reached[next.index()] = true;
  }
  return reached[index_of(dag, later)];
}

inline std::vector<std::string> problems(const Workload& workload) {
  Diagnostics diagnostics;
  check_workload(workload, SourcePlace::named("test"), diagnostics);
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics.all()) texts.push_back(diagnostic.to_text());
  return texts;
}

inline std::map<std::string, CommunicationSummary> traffic(const Workload& workload) {
  std::map<std::string, CommunicationSummary> rows;
  for (CommunicationSummary& row : summarise(workload).communication) rows[row.communicator + " " + row.type] = row;
  return rows;
}

}  // namespace weft::template_testing
