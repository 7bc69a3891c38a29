#include "tools/weft/parameters.hpp"

#include <map>
#include <string>

#include "core/check.hpp"
#include "host/collective_library.hpp"
#include "host/collectives/collective.hpp"
#include "host/host_entity.hpp"
#include "network/allocation_policy.hpp"
#include "network/flow_fabric.hpp"
#include "scheduler/job_lifecycle.hpp"
#include "scheduler/placement/placer.hpp"
#include "scheduler/policy.hpp"

namespace weft {

namespace {

/// Hands on name, without `prefix`, value and place of each text "name=value"; what that throws is thrown together in the end.
template <class Set>
void for_each_setting(std::span<const std::string> texts, const std::string& form, const std::string& prefix, const Set& set) {
  Diagnostics diagnostics;
  std::map<std::string, std::string> flag_of;
  for (const std::string& text : texts) {
    const SourcePlace place = SourcePlace::named("--set=" + text);
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      diagnostics.error("bad-setting", "\"" + text + "\" has no value", place, "write --set=" + form);
      continue;
    }
    std::string name = text.substr(0, equals);
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
    const auto [first, is_new] = flag_of.emplace(name, place.file);
    if (!is_new) {
      diagnostics.error("duplicate-setting", in_quotes(name) + " is set twice", place,
                        "it is set first by " + first->second + "; keep one of the two");
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

}  // namespace

Parameters::Parameters() {
  add(ParamSet("flow", flow_params()));
  for (const auto& module : allocation_policies()) add(ParamSet(std::string(module.info.name), module.info.params));
  add(ParamSet("host", host_params()));
  add(ParamSet("collective", CollectiveLibrary::params()));
  for (const auto& module : collective_protocols()) add(ParamSet(std::string(module.info.name), module.info.params));
  for (const auto& module : collective_algorithms()) add(ParamSet(std::string(module.info.name), module.info.params));
  add(ParamSet("scheduler", scheduler_params()));
  for (const auto& module : scheduling_policies()) add(ParamSet(std::string(module.info.name), module.info.params));
  for (const auto& module : placers()) add(ParamSet(std::string(module.info.name), module.info.params));
}

void Parameters::apply(std::string_view name, std::string_view value, const SourcePlace& place) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    throw InputError({Severity::error, "bad-setting", "\"" + std::string(name) + "\" names no module", place,
                      "write module.param, for example flow.mtu; `weft modules` lists them"});
  }
  const std::string_view module = name.substr(0, dot);
  std::vector<std::string> names;
  for (ParamSet& set : sets_) {
    if (set.module() == module) {
      set.set(name.substr(dot + 1), value, place);
      return;
    }
    if (!set.table().empty()) names.push_back(set.module());
  }
  throw InputError({Severity::error, "unknown-module",
                    "there is no module \"" + std::string(module) + "\" with parameters in this run", place,
                    suggestion(module, names, "module")});
}

void Parameters::apply_flags(std::span<const std::string> texts) {
  for_each_setting(texts, "module.param=value", "",
                   [&](const std::string& name, const std::string& value, const SourcePlace& place) { apply(name, value, place); });
}

const ParamSet& Parameters::of(std::string_view module) const {
  for (const ParamSet& set : sets_) {
    if (set.module() == module) return set;
  }
  fail_check("module is in the list", "a run has parameters for module " + std::string(module), __FILE__, __LINE__);
}

void set_from_flags(ParamSet& params, std::span<const std::string> texts) {
  for_each_setting(
      texts, "param=value", params.module() + ".",
      [&](const std::string& name, const std::string& value, const SourcePlace& place) { params.set(name, value, place); });
}

}  // namespace weft
