// SPDX-License-Identifier: Apache-2.0
// Helpers of the templates' tests: workloads by name and settings, and what they communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/workloads/named_ops.hpp"
#include "tests/workloads/workload_testing.hpp"
#include "workloads/dag/summary.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft::template_testing {

using named_ops::follows;
using named_ops::has_op;
using named_ops::op_named;

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
