// SPDX-License-Identifier: Apache-2.0
// Parameters of a run: one ParamSet per module, set by "module.param" names from the scenario's
// `set` and from --set. The name "preset" chooses a preset (host/presets), whose values stand for
// what no setting names.
//
// Where it sits: the scenario fills it, the simulation hands each module its set, the manifest
// records all of them.
// Thread safety: belongs to one thread.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/params.hpp"

namespace weft {

class Parameters {
 public:
  /// Sets of every module that a run may use, with defaults. Topology builders join when one is
  /// chosen (add()).
  Parameters();

  void add(ParamSet set) { sets_.push_back(std::move(set)); }
  /// The parameters of the topology's builder, which go by the name "topology", too. Another
  /// builder's of an earlier call stay.
  void add_builder(ParamSet set);
  const std::string& builder() const { return builder_; }
  /// `name` is "module.param", or "preset", of which the last stands. Throws InputError
  /// [unknown-module], [unknown-param], [bad-value], [out-of-range] at `place`.
  void apply(std::string_view name, std::string_view value, const SourcePlace& place);
  /// Whether "module.param" is a parameter whose value names a file.
  bool is_file(std::string_view name) const;
  /// Each text is "module.param=value", as given to --set. What apply() throws for them,
  /// [bad-setting] without "=" and [duplicate-setting] are thrown together.
  void apply_flags(std::span<const std::string> texts);

  /// Gives the values of the preset to the parameters that no setting named. To be called after the
  /// last setting.
  void fill_in_preset();
  const std::string& preset() const { return preset_; }  ///< its name, or ""
  /// Whether the value is one that fill_in_preset() gave.
  bool is_of_preset(std::string_view module, std::string_view param) const;

  bool has(std::string_view module) const;
  /// Requires: there is such a set.
  const ParamSet& of(std::string_view module) const;
  const std::vector<ParamSet>& all() const { return sets_; }

 private:
  ParamSet* find(std::string_view module);

  std::vector<ParamSet> sets_;
  std::string builder_;  ///< module of the topology's builder, or ""
  std::string preset_;
  std::set<std::string, std::less<>> of_preset_;  ///< "module.param"
};

using TakeSetting = std::function<void(const std::string& name, const std::string& value, const SourcePlace& place)>;

/// Hands on name, without `prefix`, value and place of each text "name=value" given to --set. What
/// that throws, [bad-setting] without "=" and [duplicate-setting] are thrown together in the end.
/// `form` is what to write, for messages.
void for_each_setting(std::span<const std::string> texts, const std::string& form, const std::string& prefix,
                      const TakeSetting& set);
/// Sets parameters of one module from texts "param=value" or "module.param=value", as given to
/// --set. What ParamSet::set() throws for them, [bad-setting] without "=" and [duplicate-setting]
/// are thrown together.
void set_from_flags(ParamSet& params, std::span<const std::string> texts);

}  // namespace weft
