// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/workload_settings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/check.hpp"
#include "workloads/templates/workload_templates.hpp"

namespace weft {

namespace {

constexpr std::string_view plan_module = "plan";

/// Null: there is no such template.
const ModuleInfo* template_named(std::string_view name) {
  const auto found = std::ranges::find_if(workload_templates(), [&](const auto& module) { return module.info.name == name; });
  return found == workload_templates().end() ? nullptr : &found->info;
}

std::string_view module_of(std::string_view name) { return name.substr(0, name.find('.')); }

std::string_view param_of(std::string_view name) { return name.substr(std::min(name.find('.'), name.size() - 1) + 1); }

}  // namespace

WorkloadSettings::WorkloadSettings(std::span<const std::string> texts) {
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (equals == std::string::npos || !is_of_workload(name)) {
      others_.push_back(text);
      continue;
    }
    settings_.push_back({std::string(module_of(name)), std::string(param_of(name)), text.substr(equals + 1),
                         SourcePlace::named(fmt::format("--set={}", text))});
  }
}

bool WorkloadSettings::is_of_workload(std::string_view name) {
  if (name.find('.') == std::string_view::npos) return false;
  return module_of(name) == plan_module || template_named(module_of(name)) != nullptr;
}

const ParamSpec* WorkloadSettings::spec_of(std::string_view name) {
  const ModuleInfo* const info = template_named(module_of(name));
  if (info == nullptr) return nullptr;
  const auto found = std::ranges::find(info->params, param_of(name), &ParamSpec::name);
  return found == info->params.end() ? nullptr : &*found;
}

void WorkloadSettings::check(const std::string& name, const std::string& value, const SourcePlace& place) {
  WEFT_CHECK(is_of_workload(name), "it is a workload's setting");
  const ModuleInfo* const info = template_named(module_of(name));
  if (info != nullptr) ParamSet(std::string(info->name), info->params).set(param_of(name), value, place);
}

void WorkloadSettings::apply(ParamSet& params) {
  for (Setting& setting : settings_) {
    if (setting.module != params.module()) continue;
    setting.is_used = true;
    params.set(setting.name, setting.value, setting.place);
  }
}

void WorkloadSettings::apply(PlanRequest& plan) {
  for (Setting& setting : settings_) {
    if (setting.module != plan_module) continue;
    setting.is_used = true;
    plan.overrides.push_back(fmt::format("{}={}", setting.name, setting.value));
    plan.override_places.push_back(setting.place);
  }
}

void WorkloadSettings::check_used(Diagnostics& diagnostics) const {
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    const Setting& setting = settings_[i];
    const bool is_plan = setting.module == plan_module;
    const auto first = std::ranges::find_if(
        settings_, [&](const Setting& other) { return other.module == setting.module && other.name == setting.name; });
    if (first != settings_.begin() + static_cast<std::ptrdiff_t>(i)) {
      diagnostics.error("duplicate-setting", fmt::format("{} is set twice", in_quotes(setting.module + '.' + setting.name)),
                        setting.place, fmt::format("it is set first by {}; keep one of the two", first->place.file));
    } else if (!setting.is_used) {
      diagnostics.error(
          "unused-setting",
          is_plan ? "no job of this run trains a model under a plan"
                  : fmt::format("no workload of this run comes from the template {}", setting.module),
          setting.place,
          is_plan ? "workload { model: plan: } has one" : fmt::format("workload {{ template: \"{}\" }} makes one", setting.module));
    }
  }
}

std::string WorkloadSettings::text() const {
  std::string text;
  for (const Setting& setting : settings_)
    text += fmt::format("{}{}.{}={}", text.empty() ? "" : ", ", setting.module, setting.name, setting.value);
  return text;
}

}  // namespace weft
