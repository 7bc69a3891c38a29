// SPDX-License-Identifier: Apache-2.0
#include "workloads/slurm/json_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/text_pieces.hpp"

namespace weft {

namespace {

/// Where the objects of the list `key` of a valid document begin.
std::vector<std::size_t> element_offsets(std::string_view text, const std::string& key) {
  std::vector<std::size_t> offsets;
  std::size_t depth = 0;
  bool is_inside = false;
  std::string_view last_text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t begin = i + 1;
      for (++i; text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      if (depth == 1) last_text = text.substr(begin, i - begin);
    } else if (c == '{' || c == '[') {
      if (++depth == 2 && c == '[') is_inside = last_text == key;
      // A later list of the same name takes the place of an earlier one.
      if (depth == 2 && is_inside) offsets.clear();
      if (depth == 3 && is_inside) offsets.push_back(i);
    } else if (c == '}' || c == ']') {
      if (--depth == 1) is_inside = false;
    }
  }
  return offsets;
}

nlohmann::json parse_document(const SourceText& source, const std::string& command) {
  const std::size_t first = source.text().find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && source.text()[first] != '{' && source.text()[first] != '[') {
    fail("bad-json", fmt::format("this is no JSON as {} writes it", command), source.at_offset(first),
         fmt::format("take what `{}` prints", command));
  }
  try {
    return nlohmann::json::parse(source.text());
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, source.text().size() - 1);
    fail("bad-json", fmt::format("this is no JSON as {} writes it", command), source.at_offset(at),
         "the file is damaged or cut off here");
  } catch (const nlohmann::json::out_of_range&) {
    fail("bad-json", "a number is beyond what 64 bits hold", source.whole_file(), "the file is damaged");
  }
}

}  // namespace

int JsonEntry::line() const { return source_->at_offset(offset_).line; }

SourcePlace JsonEntry::place(std::string_view field) const {
  if (!field.empty() && object_->contains(field)) {
    const std::string quoted = fmt::format("\"{}\"", field);
    const std::size_t at = source_->text().find(quoted, offset_);
    if (at != std::string_view::npos) return source_->at_offset(at, static_cast<int>(quoted.size()));
  }
  return source_->at_offset(offset_);
}

const nlohmann::json* JsonEntry::find(std::string_view path) const {
  const nlohmann::json* value = object_;
  while (!path.empty()) {
    if (!value->is_object()) return nullptr;
    const auto found = value->find(next_part(path, "/"));
    if (found == value->end() || found->is_null()) return nullptr;
    value = &*found;
  }
  return value;
}

std::string JsonEntry::text(std::string_view path) const {
  const nlohmann::json* const value = find(path);
  if (value == nullptr) return "";
  if (value->is_string()) return value->get<std::string>();
  const std::optional<std::uint64_t> whole = number(path);
  return whole ? fmt::to_string(*whole) : "";
}

std::vector<std::string> JsonEntry::texts(std::string_view path) const {
  std::vector<std::string> all;
  const nlohmann::json* const value = find(path);
  if (value == nullptr) return all;
  if (value->is_string()) all.push_back(value->get<std::string>());
  if (!value->is_array()) return all;
  for (const nlohmann::json& element : *value) {
    if (element.is_string()) all.push_back(element.get<std::string>());
  }
  return all;
}

std::vector<JsonEntry> JsonEntry::entries(std::string_view path) const {
  std::vector<JsonEntry> all;
  const nlohmann::json* const value = find(path);
  if (value == nullptr || !value->is_array()) return all;
  for (const nlohmann::json& element : *value) {
    if (element.is_object()) all.emplace_back(*source_, element, offset_);
  }
  return all;
}

std::optional<std::uint64_t> JsonEntry::number(std::string_view path) const {
  const nlohmann::json* value = find(path);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) {
    const auto is_true = [&](const char* name) {
      const auto flag = value->find(name);
      return flag != value->end() && flag->is_boolean() && flag->get<bool>();
    };
    const auto inner = value->find("number");
    if (!is_true("set") || is_true("infinite") || inner == value->end()) return std::nullopt;
    value = &*inner;
  }
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  if (value->is_number_float()) {
    const double number = value->get<double>();
    if (number >= 0 && number < 1e18 && std::floor(number) == number) return static_cast<std::uint64_t>(number);
  }
  if (value->is_string()) return plain_number<std::uint64_t>(value->get_ref<const std::string&>());
  return std::nullopt;
}

JsonList::JsonList(const SourceText& source, const std::string& key, const std::string& command)
    : document_(std::make_unique<nlohmann::json>()) {
  source.require_utf8_text("JSON document");
  *document_ = parse_document(source, command);
  const std::string help = fmt::format("take what `{}` prints", command);
  if (!document_->is_object()) fail("bad-value", "the document is no JSON object", source.at(1, 1), help);
  const auto list = document_->find(key);
  if (list == document_->end() || !list->is_array()) {
    fail("missing-field", fmt::format("the document has no list \"{}\"", key), source.at(1, 1), help);
  }
  const std::vector<std::size_t> offsets = element_offsets(source.text(), key);
  std::size_t next = 0;
  for (const nlohmann::json& element : *list) {
    const bool has_offset = element.is_structured() && next < offsets.size();
    const std::size_t offset = has_offset ? offsets[next++] : 0;
    if (!element.is_object()) {
      fail("bad-value", fmt::format("an entry of \"{}\" is no object", key), source.at_offset(offset), help);
    }
    entries_.emplace_back(source, element, offset);
  }
}

JsonList::~JsonList() = default;

}  // namespace weft
