// SPDX-License-Identifier: Apache-2.0
// What tests of pipeline schedules have in common: schedules by name and parameters.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "workloads/schedules/pipeline_schedules.hpp"

namespace weft {

using ScheduleParams = std::vector<std::pair<std::string, std::string>>;

inline PipelineScheduleResult schedule_or_rule(const std::string& name, const PipelineSizes& sizes,
                                               const ScheduleParams& set = {}) {
  const SourcePlace place = SourcePlace::named("test");
  const auto& module = find_module(pipeline_schedules(), name, place);
  ParamSet params(name, module.info.params);
  for (const auto& [key, value] : set) params.set(key, value, place);
  return module.make.make(sizes, params);
}

inline PipelineSchedule schedule_called(const std::string& name, const PipelineSizes& sizes, const ScheduleParams& set = {}) {
  PipelineScheduleResult result = schedule_or_rule(name, sizes, set);
  if (const auto* broken = std::get_if<BrokenScheduleRule>(&result)) {
    ADD_FAILURE() << broken->rule;
    return {};
  }
  return std::get<PipelineSchedule>(std::move(result));
}

inline std::string rule_broken_by(const std::string& name, const PipelineSizes& sizes, const ScheduleParams& set = {}) {
  const PipelineScheduleResult result = schedule_or_rule(name, sizes, set);
  const auto* broken = std::get_if<BrokenScheduleRule>(&result);
  return broken == nullptr ? "" : broken->rule;
}

}  // namespace weft
