// SPDX-License-Identifier: Apache-2.0
#include "core/text/params.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

/// A parameter value in the units in which values of its kind are compared.
struct Magnitude {
  bool ok = false;
  long double value = 0;
  QuantityError error;
};

template <class Quantity>
Magnitude magnitude_of(const ParsedQuantity<Quantity>& parsed, std::int64_t (*count)(Quantity)) {
  if (!parsed.value) return {false, 0, parsed.error};
  return {true, static_cast<long double>(count(*parsed.value)), {}};
}

std::vector<std::string> split_choices(std::string_view choices) {
  std::vector<std::string> parts;
  while (!choices.empty()) {
    const std::size_t bar = choices.find('|');
    parts.emplace_back(choices.substr(0, bar));
    if (bar == std::string_view::npos) break;
    choices.remove_prefix(bar + 1);
  }
  return parts;
}

Magnitude measure(const ParamSpec& spec, std::string_view text) {
  switch (spec.kind) {
    case ParamKind::integer: {
      std::int64_t value = 0;
      const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (ec == std::errc::result_out_of_range)
        return {false, 0, {fmt::format("\"{}\" is out of range", text), "a 64-bit whole number is expected"}};
      if (ec != std::errc() || end != text.data() + text.size()) {
        return {
            false, 0, {fmt::format("\"{}\" is not a whole number", text), fmt::format("for example \"{}\"", spec.default_text)}};
      }
      return {true, static_cast<long double>(value), {}};
    }
    case ParamKind::real: {
      double value = 0;
      const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (ec != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
        return {false, 0, {fmt::format("\"{}\" is not a number", text), fmt::format("for example \"{}\"", spec.default_text)}};
      }
      return {true, static_cast<long double>(value), {}};
    }
    case ParamKind::boolean:
      if (text == "true" || text == "false") return {true, text == "true" ? 1.0L : 0.0L, {}};
      return {false, 0, {fmt::format("\"{}\" is neither true nor false", text), "write true or false"}};
    case ParamKind::choice: {
      const std::vector<std::string> names = split_choices(spec.choices);
      for (const std::string& name : names) {
        if (name == text) return {true, 0, {}};
      }
      return {false, 0, {fmt::format("\"{}\" is not one of the choices", text), suggestion(text, names, "choice")}};
    }
    case ParamKind::text:
    case ParamKind::file:
      return {true, 0, {}};
    case ParamKind::duration:
      return magnitude_of<Duration>(parse_duration(text), [](Duration d) { return d.in_ticks(); });
    case ParamKind::bytes:
      return magnitude_of<Bytes>(parse_bytes(text), [](Bytes b) { return b.count(); });
    case ParamKind::bandwidth:
      return magnitude_of<Bandwidth>(parse_bandwidth(text), [](Bandwidth b) { return b.in_bps(); });
    case ParamKind::length:
      return magnitude_of<Length>(parse_length(text), [](Length l) { return l.in_millimetres(); });
  }
  return {};
}

/// As measure(), but of a text that is a quantity or a word: the row's minimum says which quantity.
/// Not ok where there is nothing to measure.
Magnitude measure_or_word(const ParamSpec& spec, std::string_view text) {
  if (spec.kind != ParamKind::text) return measure(spec, text);
  if (spec.word.empty() || spec.minimum.empty() || text == spec.word) return {};
  ParamSpec held = spec;
  for (const ParamKind kind : {ParamKind::integer, ParamKind::duration, ParamKind::bytes, ParamKind::bandwidth}) {
    held.kind = kind;
    if (measure(held, spec.minimum).ok) return measure(held, text);
  }
  return {};
}

Magnitude bound_of(const ParamSpec& spec, std::string_view bound) {
  return bound.empty() ? Magnitude{} : measure_or_word(spec, bound);
}

}  // namespace

ParamSet::ParamSet(std::string module, ParamTable table) : module_(std::move(module)), table_(table) {
  for (const ParamSpec& spec : table_) {
    WEFT_CHECK(measure(spec, spec.default_text).ok, fmt::format("the default of {}.{} can be read", module_, spec.name));
    values_.emplace_back(spec.default_text);
    if (spec.fit.minimum.empty()) continue;
    const Magnitude least = measure(spec, spec.fit.minimum);
    const Magnitude most = measure(spec, spec.fit.maximum);
    WEFT_CHECK(least.ok && most.ok && least.value < most.value, fmt::format("{}.{} is fitted within a range", module_, spec.name));
  }
  given_.resize(table_.size(), false);
}

void ParamSet::set(std::string_view name, std::string_view text, const SourcePlace& place) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const ParamSpec& spec = table_[i];
    if (spec.name != name) {
      names.emplace_back(spec.name);
      continue;
    }
    const std::string full_name = fmt::format("{}.{}", module_, name);
    const Magnitude given = measure(spec, text);
    if (!given.ok) fail("bad-value", fmt::format("{}: {}", full_name, given.error.message), place, given.error.help);
    const Magnitude value = measure_or_word(spec, text);
    const Magnitude least = bound_of(spec, spec.minimum);
    const Magnitude most = bound_of(spec, spec.maximum);
    const bool too_small = value.ok && least.ok && value.value < least.value;
    const bool too_large = value.ok && most.ok && value.value > most.value;
    if (too_small || too_large) {
      fail("out-of-range", fmt::format("{} = {} is {}", full_name, text, too_small ? "below the minimum" : "above the maximum"),
           place,
           fmt::format("allowed: {} .. {}", spec.minimum.empty() ? std::string("any") : std::string(spec.minimum),
                       spec.maximum.empty() ? std::string("any") : std::string(spec.maximum)));
    }
    values_[i] = std::string(text);
    given_[i] = true;
    return;
  }
  fail("unknown-param", fmt::format("{} has no parameter \"{}\"", module_, name), place, suggestion(name, names, "parameter"));
}

bool ParamSet::has(std::string_view name) const {
  return std::any_of(table_.begin(), table_.end(), [name](const ParamSpec& spec) { return spec.name == name; });
}

bool ParamSet::is_default(std::string_view name) const {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (table_[i].name == name) return values_[i] == table_[i].default_text;
  }
  fail_check("name is in table", fmt::format("{} has a parameter {}", module_, name), __FILE__, __LINE__);
}

bool ParamSet::is_given(std::string_view name) const {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (table_[i].name == name) return given_[i];
  }
  fail_check("name is in table", fmt::format("{} has a parameter {}", module_, name), __FILE__, __LINE__);
}

std::size_t ParamSet::index_of(std::string_view name, ParamKind kind) const {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const bool both_text = kind == ParamKind::text && (table_[i].kind == ParamKind::choice || table_[i].kind == ParamKind::file);
    if (table_[i].name == name && (table_[i].kind == kind || both_text)) return i;
  }
  fail_check("name is in table", fmt::format("{} has a parameter {} of that kind", module_, name), __FILE__, __LINE__);
}

std::size_t ParamSet::choice_number(std::size_t i) const {
  const std::vector<std::string> names = split_choices(table_[i].choices);
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), values_[i]) - names.begin());
}

std::int64_t ParamSet::integer(std::string_view name) const {
  const std::string& text = values_[index_of(name, ParamKind::integer)];
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
double ParamSet::real(std::string_view name) const {
  const std::string& text = values_[index_of(name, ParamKind::real)];
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}
bool ParamSet::boolean(std::string_view name) const { return values_[index_of(name, ParamKind::boolean)] == "true"; }
const std::string& ParamSet::text(std::string_view name) const { return values_[index_of(name, ParamKind::text)]; }
Duration ParamSet::duration(std::string_view name) const {
  return *parse_duration(values_[index_of(name, ParamKind::duration)]).value;
}
Bytes ParamSet::bytes(std::string_view name) const { return *parse_bytes(values_[index_of(name, ParamKind::bytes)]).value; }
Bandwidth ParamSet::bandwidth(std::string_view name) const {
  return *parse_bandwidth(values_[index_of(name, ParamKind::bandwidth)]).value;
}
Length ParamSet::length(std::string_view name) const { return *parse_length(values_[index_of(name, ParamKind::length)]).value; }

namespace {

template <class Quantity>
std::optional<Quantity> quantity_or(std::string_view text, std::string_view word, const ParsedQuantity<Quantity>& parsed,
                                    const std::string& param, std::string_view example) {
  if (text == word) return std::nullopt;
  if (parsed.value) return parsed.value;
  fail("bad-value", fmt::format("{}: {}", param, parsed.error.message), SourcePlace::named(param),
       fmt::format("write {}, or {}", word, example));
}

}  // namespace

void check_needs(const ParamSet& params, std::span<const ParamNeed> needs, const SourcePlace& place) {
  Diagnostics diagnostics;
  for (const ParamNeed& need : needs) {
    if (need.is_met || params.is_default(need.param)) continue;
    diagnostics.error("unused-setting", fmt::format("{}: {} needs {}", params.module(), need.param, need.needs), place,
                      "leave it out, or set what it needs");
  }
  diagnostics.throw_if_errors();
}

std::optional<Bytes> read_bytes_or(std::string_view text, std::string_view word, const std::string& param) {
  return quantity_or(text, word, parse_bytes(text), param, "a size such as 100kB");
}
std::optional<Duration> read_duration_or(std::string_view text, std::string_view word, const std::string& param) {
  return quantity_or(text, word, parse_duration(text), param, "a time such as 10us");
}
std::optional<Bandwidth> read_bandwidth_or(std::string_view text, std::string_view word, const std::string& param) {
  return quantity_or(text, word, parse_bandwidth(text), param, "a rate such as 100Gbps");
}

std::optional<Bytes> ParamSet::bytes_or(std::string_view name, std::string_view word) const {
  return read_bytes_or(text(name), word, fmt::format("{}.{}", module_, name));
}
std::optional<Duration> ParamSet::duration_or(std::string_view name, std::string_view word) const {
  return read_duration_or(text(name), word, fmt::format("{}.{}", module_, name));
}
std::optional<Bandwidth> ParamSet::bandwidth_or(std::string_view name, std::string_view word) const {
  return read_bandwidth_or(text(name), word, fmt::format("{}.{}", module_, name));
}
std::optional<std::uint64_t> ParamSet::number_or(std::string_view name, std::string_view word) const {
  const std::string& given = text(name);
  if (given == word) return std::nullopt;
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error == std::errc() && end == given.data() + given.size() && value >= 0) return static_cast<std::uint64_t>(value);
  const std::string full = fmt::format("{}.{}", module(), name);
  fail("bad-value", fmt::format("{}: {} is not a whole number from 0 to 2^63 - 1", full, in_quotes(given)),
       SourcePlace::named(full), fmt::format("write {}, or a number such as 7", word));
}

void fail_unknown_module(const std::string& kind, std::string_view name, std::span<const std::string> known,
                         const SourcePlace& place) {
  fail("unknown-module", fmt::format("there is no {} \"{}\"", kind, name), place, suggestion(name, known, kind));
}

double param_number(const ParamSpec& spec, std::string_view text) {
  const Magnitude magnitude = measure(spec, text);
  WEFT_CHECK(magnitude.ok, fmt::format("\"{}\" is a value of {}", text, spec.name));
  return static_cast<double>(magnitude.value);
}

std::string param_text(const ParamSpec& spec, double number) {
  if (spec.kind == ParamKind::real) return fmt::format("{:.7g}", number);
  const std::int64_t whole = std::llround(number);
  switch (spec.kind) {
    case ParamKind::duration:
      return to_text(Duration::ticks(whole));
    case ParamKind::bytes:
      return to_text(Bytes::of(whole));
    case ParamKind::bandwidth:
      return to_text(Bandwidth::bps(whole));
    case ParamKind::length:
      return to_text(Length::millimetres(whole));
    default:
      return fmt::format("{}", whole);
  }
}

std::string_view to_text(ParamKind kind) {
  switch (kind) {
    case ParamKind::integer:
      return "integer";
    case ParamKind::real:
      return "real";
    case ParamKind::boolean:
      return "true|false";
    case ParamKind::text:
      return "text";
    case ParamKind::file:
      return "file";
    case ParamKind::choice:
      return "choice";
    case ParamKind::duration:
      return "duration";
    case ParamKind::bytes:
      return "size";
    case ParamKind::bandwidth:
      return "bandwidth";
    case ParamKind::length:
      return "length";
  }
  return "";
}

}  // namespace weft
