// SPDX-License-Identifier: Apache-2.0
// Parameter rows: rows of a table that fill the members of a settings struct.
//
// param<&FlowSettings::mtu>({.name = "mtu", .default_text = "4096B", ...}) is the row of a
// parameter and says which member has its value. The kind follows from the member's type. The
// default stands in the row alone. fill(settings, set) fills all members that the rows of a set's
// table name.
//
//   enum       a choice; the enumerators are in the order of the choices
//   bool       true or false; with choices it is true for `word`
//   optional   a quantity or `word`, for which it is none; without a word, for fill_given()
//   others     param_read<read, &Settings::member>: what read(text, "module.param") makes of the
//              text
//
// A member of a member is reached by the path of both, param<&A::b, &B::c>, and an element of an
// array by its number or enumerator, param<&A::b, Kind::host>.
// Thread safety: rows are constants, the functions pure.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/text/params.hpp"
#include "core/values/units.hpp"

namespace weft {

namespace param_rows {

template <class Pointer>
struct OwnerOf;
template <class Owner, class Member>
struct OwnerOf<Member Owner::*> {
  using Struct = Owner;
};

/// Its address stands for the type.
template <class Settings>
inline constexpr char type_mark = 0;

/// The value at the end of a path. A step is a pointer to a member or the number of an element.
template <auto First, auto... Rest, class Whole>
constexpr auto& value_at(Whole& whole) {
  auto& part = [&]() -> auto& {
    if constexpr (std::is_member_object_pointer_v<decltype(First)>) {
      return whole.*First;
    } else {
      return whole[static_cast<std::size_t>(First)];
    }
  }
  ();
  if constexpr (sizeof...(Rest) == 0) {
    return part;
  } else {
    return value_at<Rest...>(part);
  }
}

/// A path from a struct to a value in it.
template <auto First, auto... Rest>
struct Path {
  using Struct = typename OwnerOf<decltype(First)>::Struct;
  using Value = std::remove_cvref_t<decltype(value_at<First, Rest...>(std::declval<Struct&>()))>;

  static constexpr auto& in(Struct& settings) { return value_at<First, Rest...>(settings); }
  static constexpr const auto& in(const Struct& settings) { return value_at<First, Rest...>(settings); }
};

/// What an optional holds; void of all else.
template <class Value>
struct InOptional {
  using Type = void;
};
template <class Held>
struct InOptional<std::optional<Held>> {
  using Type = Held;
};
template <class Value>
inline constexpr bool is_optional = !std::is_void_v<typename InOptional<Value>::Type>;

/// The kind of parameter that fills a member of this type. A row of a text may say that it is a
/// file's name or a choice whose list comes later.
template <class Value>
constexpr ParamKind kind_of(const ParamSpec& row) {
  if constexpr (is_optional<Value>) {
    if (row.word.empty()) return kind_of<typename InOptional<Value>::Type>(row);
  }
  if (!row.choices.empty()) return ParamKind::choice;
  if constexpr (std::same_as<Value, bool>) return ParamKind::boolean;
  if constexpr (std::integral<Value>) return ParamKind::integer;
  if constexpr (std::floating_point<Value>) return ParamKind::real;
  if constexpr (std::same_as<Value, Duration>) return ParamKind::duration;
  if constexpr (std::same_as<Value, Bytes>) return ParamKind::bytes;
  if constexpr (std::same_as<Value, Bandwidth>) return ParamKind::bandwidth;
  if constexpr (std::same_as<Value, Length>) return ParamKind::length;
  return row.kind == ParamKind::file || row.kind == ParamKind::choice ? row.kind : ParamKind::text;
}

template <class Value>
Value value_of(const ParamSet& params, std::size_t i);

/// Of a parameter that is a quantity or a word.
template <class Held>
std::optional<Held> optional_of(const ParamSet& params, const ParamSpec& row) {
  if constexpr (std::same_as<Held, Duration>) {
    return params.duration_or(row.name, row.word);
  } else if constexpr (std::same_as<Held, Bytes>) {
    return params.bytes_or(row.name, row.word);
  } else if constexpr (std::same_as<Held, Bandwidth>) {
    return params.bandwidth_or(row.name, row.word);
  } else {
    static_assert(std::same_as<Held, std::uint64_t>, "param_read() fills members of other types");
    return params.number_or(row.name, row.word);
  }
}

/// The value of the i-th parameter as a member of this type has it.
template <class Value>
Value value_of(const ParamSet& params, std::size_t i) {
  const ParamSpec& row = params.table()[i];
  if constexpr (is_optional<Value>) {
    using Held = typename InOptional<Value>::Type;
    if constexpr (std::same_as<Held, Duration> || std::same_as<Held, Bytes> || std::same_as<Held, Bandwidth> ||
                  std::same_as<Held, std::uint64_t>) {
      if (!row.word.empty()) return optional_of<Held>(params, row);
    }
    return value_of<Held>(params, i);
  } else if constexpr (std::same_as<Value, bool>) {
    return row.choices.empty() ? params.boolean(row.name) : params.value_text(i) == row.word;
  } else if constexpr (std::is_enum_v<Value>) {
    return static_cast<Value>(params.choice_number(i));
  } else if constexpr (std::integral<Value>) {
    return static_cast<Value>(params.integer(row.name));
  } else if constexpr (std::floating_point<Value>) {
    return params.real(row.name);
  } else if constexpr (std::same_as<Value, Duration>) {
    return params.duration(row.name);
  } else if constexpr (std::same_as<Value, Bytes>) {
    return params.bytes(row.name);
  } else if constexpr (std::same_as<Value, Bandwidth>) {
    return params.bandwidth(row.name);
  } else if constexpr (std::same_as<Value, Length>) {
    return params.length(row.name);
  } else {
    static_assert(std::same_as<Value, std::string>, "param_read() fills members of other types");
    return params.value_text(i);
  }
}

template <auto Read>
auto read_value(const ParamSet& params, std::size_t i) {
  return Read(params.value_text(i), params.module() + "." + std::string(params.table()[i].name));
}

/// A row whose member at the end of Path has the value that Get(set, number of the row) returns.
template <class Path, auto Get>
constexpr ParamSpec bound(ParamSpec row) {
  using Settings = typename Path::Struct;
  row.binding.settings = &type_mark<Settings>;
  row.binding.store = [](void* settings, const ParamSet& params, std::size_t i) {
    Path::in(*static_cast<Settings*>(settings)) = Get(params, i);
  };
  row.binding.holds = [](const void* settings, const ParamSet& params, std::size_t i) {
    return Path::in(*static_cast<const Settings*>(settings)) == Get(params, i);
  };
  return row;
}

/// Calls with the number of each row that fills members of Settings. Requires: there is one.
template <class Settings, class Call>
void for_each_row_of(const ParamSet& params, const Call& call) {
  bool has_row = false;
  for (std::size_t i = 0; i < params.table().size(); ++i) {
    if (params.table()[i].binding.settings != &type_mark<Settings>) continue;
    has_row = true;
    call(i);
  }
  WEFT_CHECK(has_row, "the table of " + params.module() + " fills members of the struct");
}

}  // namespace param_rows

/// A row that fills a member of a type that the list above names.
template <auto... Members>
constexpr ParamSpec param(ParamSpec row) {
  using Path = param_rows::Path<Members...>;
  row.kind = param_rows::kind_of<typename Path::Value>(row);
  return param_rows::bound<Path, param_rows::value_of<typename Path::Value>>(row);
}

/// A row of a text that Read turns into the member's value. Read throws InputError for wrong texts.
template <auto Read, auto... Members>
constexpr ParamSpec param_read(ParamSpec row) {
  row.kind = param_rows::kind_of<std::string>(row);
  return param_rows::bound<param_rows::Path<Members...>, param_rows::read_value<Read>>(row);
}

/// Fills every member of the struct that a row names. Throws InputError for wrong texts.
/// Requires: the set's table has a row for the struct (WEFT_CHECK).
template <class Settings>
void fill(Settings& settings, const ParamSet& params) {
  param_rows::for_each_row_of<Settings>(params, [&](std::size_t i) { params.table()[i].binding.store(&settings, params, i); });
}
/// Fills the members whose parameters were set; the other members keep their values.
template <class Settings>
void fill_given(Settings& settings, const ParamSet& params) {
  param_rows::for_each_row_of<Settings>(params, [&](std::size_t i) {
    if (params.is_given(params.table()[i].name)) params.table()[i].binding.store(&settings, params, i);
  });
}
/// A struct whose members that no row names are empty.
template <class Settings>
Settings filled(const ParamSet& params) {
  Settings settings{};
  fill(settings, params);
  return settings;
}
/// The struct as the defaults of its table make it.
template <class Settings>
Settings default_settings(ParamTable table) {
  return filled<Settings>(ParamSet("defaults", table));
}

/// The names of the parameters whose members in `settings` differ from the values of the set.
template <class Settings>
std::vector<std::string> members_that_differ(const Settings& settings, const ParamSet& params) {
  std::vector<std::string> names;
  param_rows::for_each_row_of<Settings>(params, [&](std::size_t i) {
    if (!params.table()[i].binding.holds(&settings, params, i)) names.emplace_back(params.table()[i].name);
  });
  return names;
}

}  // namespace weft
