// Parameters of a run: one ParamSet per module, set by "module.param" names from the scenario's `set` and from --set.
//
// Where it sits: the scenario fills it, the simulation hands each module its set, the manifest records all of them.
// Thread safety: belongs to one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/params.hpp"

namespace weft {

class Parameters {
 public:
  /// Sets of every module that a run may use, with defaults. Topology builders join when one is chosen (add()).
  Parameters();

  void add(ParamSet set) { sets_.push_back(std::move(set)); }
  /// `name` is "module.param". Throws InputError [unknown-module], [unknown-param], [bad-value], [out-of-range] at `place`.
  void apply(std::string_view name, std::string_view value, const SourcePlace& place);
  /// `text` is "module.param=value", as given to --set. Throws as apply(), and [bad-setting] without "=".
  void apply_flag(const std::string& text);

  /// Requires: there is such a set.
  const ParamSet& of(std::string_view module) const;
  const std::vector<ParamSet>& all() const { return sets_; }

 private:
  std::vector<ParamSet> sets_;
};

}  // namespace weft
