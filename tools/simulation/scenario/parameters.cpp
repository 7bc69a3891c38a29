// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/parameters.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/check.hpp"
#include "host/collectives/collective.hpp"
#include "host/collectives/collective_library.hpp"
#include "host/collectives/nccl_tuner.hpp"
#include "host/presets.hpp"
#include "host/ranks/host_settings.hpp"
#include "host/transport/congestion_control.hpp"
#include "host/transport/packet_settings.hpp"
#include "network/flow/flow_fabric.hpp"
#include "network/max_min/allocation_policy.hpp"
#include "scheduler/failures/failure_plan.hpp"
#include "scheduler/failures/maintenance_plan.hpp"
#include "scheduler/lifecycle/progress_model.hpp"
#include "scheduler/lifecycle/scheduler_settings.hpp"
#include "scheduler/lifecycle/storage.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policies/policy.hpp"

namespace weft {

namespace {

const ModuleInfo& find_preset(std::string_view name, const SourcePlace& place) {
  std::vector<std::string> names;
  for (const ModuleInfo& preset : run_presets()) {
    if (preset.name == name) return preset;
    names.emplace_back(preset.name);
  }
  fail("bad-value", fmt::format("there is no preset {}", in_quotes(name)), place, suggestion(name, names, "preset"));
}

}  // namespace

void for_each_setting(std::span<const std::string> texts, const std::string& form, const std::string& prefix,
                      const TakeSetting& set) {
  Diagnostics diagnostics;
  std::map<std::string, std::string> flag_of;
  for (const std::string& text : texts) {
    const SourcePlace place = SourcePlace::named(fmt::format("--set={}", text));
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      diagnostics.error("bad-setting", fmt::format("\"{}\" has no value", text), place, fmt::format("write --set={}", form));
      continue;
    }
    std::string name = text.substr(0, equals);
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
    const auto [first, is_new] = flag_of.emplace(name, place.file);
    if (!is_new) {
      diagnostics.error("duplicate-setting", fmt::format("{} is set twice", in_quotes(name)), place,
                        fmt::format("it is set first by {}; keep one of the two", first->second));
      continue;
    }
    try {
      set(name, text.substr(equals + 1), place);
    } catch (const InputError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) diagnostics.add(diagnostic);
    }
  }
  diagnostics.throw_if_errors();
}

Parameters::Parameters() {
  add(ParamSet("flow", flow_params()));
  add(ParamSet("wan", wan_params()));
  add(ParamSet("packet", packet_params()));
  for (const auto& module : congestion_algorithms()) add(ParamSet(std::string(module.info.name), module.info.params));
  for (const auto& module : allocation_policies()) add(ParamSet(std::string(module.info.name), module.info.params));
  add(ParamSet("host", host_params()));
  add(ParamSet("collective", CollectiveLibrary::params()));
  add(ParamSet("nccl", nccl_params()));
  for (const auto& module : collective_protocols()) add(ParamSet(std::string(module.info.name), module.info.params));
  for (const auto& module : collective_algorithms()) add(ParamSet(std::string(module.info.name), module.info.params));
  add(ParamSet("scheduler", scheduler_params()));
  add(ParamSet("checkpoint", checkpoint_params()));
  add(ParamSet("failure", failure_params()));
  add(ParamSet("maintenance", maintenance_params()));
  add(ParamSet("storage", storage_params()));
  for (const auto& module : scheduling_policies()) add(ParamSet(std::string(module.info.name), module.info.params));
  for (const auto& module : placers()) add(ParamSet(std::string(module.info.name), module.info.params));
}

void Parameters::add_builder(ParamSet set) {
  builder_ = set.module();
  std::erase_if(sets_, [this](const ParamSet& known) { return known.module() == builder_; });
  add(std::move(set));
}

void Parameters::apply(std::string_view name, std::string_view value, const SourcePlace& place) {
  if (name == "preset") {
    preset_ = find_preset(value, place).name;
    return;
  }
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    fail("bad-setting", fmt::format("\"{}\" names no module", name), place,
         "write module.param, for example flow.mtu; `weft modules` lists them");
  }
  std::string_view module = name.substr(0, dot);
  if (module == "topology") {
    if (builder_.empty()) {
      fail("unknown-module", "the topology of this run has no parameters, as no builder makes it", place,
           "give a topology with a builder; `weft modules topology` lists them");
    }
    module = builder_;
  }
  if (ParamSet* const set = find(module); set != nullptr) {
    set->set(name.substr(dot + 1), value, place);
    return;
  }
  std::vector<std::string> names;
  for (const ParamSet& set : sets_) {
    if (!set.table().empty()) names.push_back(set.module());
  }
  fail("unknown-module", fmt::format("there is no module \"{}\" with parameters in this run", module), place,
       suggestion(module, names, "module"));
}

bool Parameters::is_file(std::string_view name) const {
  return std::any_of(sets_.begin(), sets_.end(), [&](const ParamSet& set) {
    return std::any_of(set.table().begin(), set.table().end(), [&](const ParamSpec& spec) {
      return spec.kind == ParamKind::file && name == fmt::format("{}.{}", set.module(), spec.name);
    });
  });
}

void Parameters::apply_flags(std::span<const std::string> texts) {
  for_each_setting(texts, "module.param=value", "",
                   [&](const std::string& name, const std::string& value, const SourcePlace& place) { apply(name, value, place); });
}

ParamSet* Parameters::find(std::string_view module) {
  const auto found = std::find_if(sets_.begin(), sets_.end(), [module](const ParamSet& set) { return set.module() == module; });
  return found == sets_.end() ? nullptr : &*found;
}

void Parameters::fill_in_preset() {
  if (preset_.empty()) return;
  const SourcePlace place = SourcePlace::named(fmt::format("preset {}", preset_));
  for (const NamedValue& value : find_preset(preset_, place).values) {
    const std::size_t dot = value.name.find('.');
    ParamSet* const set = find(value.name.substr(0, dot));
    WEFT_CHECK(set != nullptr, "presets name modules of every run");
    const std::string_view param = value.name.substr(dot + 1);
    if (set->is_given(param)) continue;
    set->set(param, value.value, place);
    of_preset_.emplace(value.name);
  }
}

bool Parameters::is_of_preset(std::string_view module, std::string_view param) const {
  return of_preset_.contains(fmt::format("{}.{}", module, param));
}

bool Parameters::has(std::string_view module) const {
  return std::ranges::any_of(sets_, [module](const ParamSet& set) { return set.module() == module; });
}

const ParamSet& Parameters::of(std::string_view module) const {
  for (const ParamSet& set : sets_) {
    if (set.module() == module) return set;
  }
  fail_check("module is in the list", fmt::format("a run has parameters for module {}", module), __FILE__, __LINE__);
}

void set_from_flags(ParamSet& params, std::span<const std::string> texts) {
  for_each_setting(
      texts, "param=value", fmt::format("{}.", params.module()),
      [&](const std::string& name, const std::string& value, const SourcePlace& place) { params.set(name, value, place); });
}

}  // namespace weft
