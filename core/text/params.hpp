// SPDX-License-Identifier: Apache-2.0
// Parameter tables: what a module can be told, in one place for help, validation, manifest and
// calibrator.
//
// A module declares a constexpr array of `ParamSpec`. Rows fill members of the module's settings
// (core/text/param_rows.hpp). Users set values as text with units. A misspelt name, a wrong unit or
// a value out of range is an InputError with a suggestion. A row also says in which runs its
// parameter has no effect. Modules are chosen by name from an explicit list per folder
// (`Module<Factory>`), never by static registration.
// Thread safety: specs are constants; a ParamSet is a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/units.hpp"

namespace weft {

enum class ParamKind { integer, real, boolean, text, file, choice, duration, bytes, bandwidth, length };

class ParamSet;

/// How a row fills the member that it names.
struct ParamBinding {
  /// Stands for the type of the struct; null: the row names no member.
  const void* settings = nullptr;
  void (*store)(void* settings, const ParamSet& params, std::size_t row) = nullptr;
  /// Whether the member has the value of the set.
  bool (*holds)(const void* settings, const ParamSet& params, std::size_t row) = nullptr;
};

/// A condition on a run under which a parameter has no effect (core/text/run_condition), and what
/// the run says of it then.
struct UnusedWhen {
  std::string_view condition;  ///< such as "flow.routing != ecmp"
  std::string_view because;
};

/// The conditions of one row, in the order in which a run looks at them. A constant.
class UnusedList {
 public:
  constexpr UnusedList() = default;
  constexpr UnusedList(std::initializer_list<UnusedWhen> all) {
    for (const UnusedWhen& one : all) all_.at(count_++) = one;
  }
  constexpr const UnusedWhen* begin() const { return all_.data(); }
  constexpr const UnusedWhen* end() const { return all_.data() + count_; }

 private:
  std::array<UnusedWhen, 4> all_ = {};
  std::size_t count_ = 0;
};

/// From where to where real hardware may have a number, which a calibration looks for in between.
struct FitRange {
  std::string_view minimum = {};  ///< with unit; empty: the parameter is not fitted
  std::string_view maximum = {};
  bool is_logarithmic = false;  ///< orders of magnitude count, not differences
};

/// One parameter. All members are texts so that a table is a constant; values are checked when the
/// set is built.
struct ParamSpec {
  std::string_view name;
  ParamKind kind = ParamKind::text;
  std::string_view default_text = {};  ///< with unit, e.g. "1.5us"
  std::string_view minimum = {};       ///< with unit; empty = no lower bound
  std::string_view maximum = {};       ///< with unit; empty = no upper bound
  std::string_view choices = {};       ///< for ParamKind::choice: "max_min|proportional"
  std::string_view meaning = {};       ///< one sentence
  std::string_view origin = {};        ///< where the default comes from
  FitRange fit = {};                   ///< of a number
  /// Of an optional member: stands for none; of a bool with choices: for true.
  std::string_view word = {};
  UnusedList unused = {};
  ParamBinding binding = {};
};

using ParamTable = std::span<const ParamSpec>;

/// Values for one table. Starts with the defaults.
class ParamSet {
 public:
  /// `module` is the name that error messages and the manifest use ("fat_tree").
  ParamSet(std::string module, ParamTable table);

  /// Sets one value from text. Throws InputError [unknown-param], [bad-value], [out-of-range] at
  /// `place`.
  void set(std::string_view name, std::string_view text, const SourcePlace& place);
  bool has(std::string_view name) const;  ///< the table does
  bool is_default(std::string_view name) const;
  bool is_given(std::string_view name) const;  ///< set() was called for it, be it with its default

  // Typed readers. Requires: the table has `name` with that kind (WEFT_CHECK).
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  bool boolean(std::string_view name) const;
  const std::string& text(std::string_view name) const;  ///< also for files and choices
  Duration duration(std::string_view name) const;
  Bytes bytes(std::string_view name) const;
  Bandwidth bandwidth(std::string_view name) const;
  Length length(std::string_view name) const;
  /// Of a parameter of kind text: a quantity, or none for `word`. Throws InputError [bad-value].
  std::optional<Bytes> bytes_or(std::string_view name, std::string_view word) const;
  std::optional<Duration> duration_or(std::string_view name, std::string_view word) const;
  std::optional<Bandwidth> bandwidth_or(std::string_view name, std::string_view word) const;
  /// Whole numbers from 0 to 2^63 - 1.
  std::optional<std::uint64_t> number_or(std::string_view name, std::string_view word) const;

  const std::string& module() const { return module_; }
  ParamTable table() const { return table_; }
  /// Value of the i-th parameter of the table as text, for the manifest.
  const std::string& value_text(std::size_t i) const { return values_[i]; }
  /// Of the i-th parameter, a choice: the number of its value among the choices, from 0.
  std::size_t choice_number(std::size_t i) const;

 private:
  std::size_t index_of(std::string_view name, ParamKind kind) const;

  std::string module_;
  ParamTable table_;
  std::vector<std::string> values_;
  std::vector<bool> given_;
};

/// A parameter that matters under a condition only.
struct ParamNeed {
  std::string_view param;
  bool is_met = false;
  std::string needs;  ///< the condition: "method=hierarchical"
};

/// Throws InputError [unused-setting] for all that were set, other than to their defaults, without
/// what they need.
void check_needs(const ParamSet& params, std::span<const ParamNeed> needs, const SourcePlace& place);

/// What a text says that is a quantity or a word, for which it is none. Throws InputError
/// [bad-value] about `param`, "module.param".
std::optional<Bytes> read_bytes_or(std::string_view text, std::string_view word, const std::string& param);
std::optional<Duration> read_duration_or(std::string_view text, std::string_view word, const std::string& param);
std::optional<Bandwidth> read_bandwidth_or(std::string_view text, std::string_view word, const std::string& param);

/// The value that something with a name of its own, such as a machine, gives a parameter.
struct NamedValue {
  std::string_view name;  ///< of the parameter
  std::string_view value;
  std::string_view origin;
};

/// What `weft modules` prints about a module.
struct ModuleInfo {
  std::string_view kind;  ///< "topology", "scheduler", "collective", ...
  std::string_view name;
  std::string_view summary;  ///< one paragraph
  ParamTable params;
  std::span<const NamedValue> values = {};  ///< of parameters of other modules
};

/// A module that can be chosen by name.
template <class Factory>
struct Module {
  ModuleInfo info;
  Factory make;
};

[[noreturn]] void fail_unknown_module(const std::string& kind, std::string_view name, std::span<const std::string> known,
                                      const SourcePlace& place);

/// The module called `name`; throws InputError [unknown-module] with a suggestion at `place`.
template <class Factory>
const Module<Factory>& find_module(std::span<const Module<Factory>> modules, std::string_view name, const SourcePlace& place) {
  std::vector<std::string> names;
  for (const auto& module : modules) {
    if (module.info.name == name) return module;
    names.emplace_back(module.info.name);
  }
  fail_unknown_module(modules.empty() ? "module" : std::string(modules.front().info.kind), name, names, place);
}

/// What a text says of a parameter that is a number: itself, or how many ticks, bytes, bits per
/// second or millimetres. Requires: the text is a value of the parameter (WEFT_CHECK).
double param_number(const ParamSpec& spec, std::string_view text);
/// The text of a number, with its unit; whole ones but for reals.
std::string param_text(const ParamSpec& spec, double number);

/// Unit-bearing name of a kind for help: "duration", "size", ...
std::string_view to_text(ParamKind kind);

}  // namespace weft
