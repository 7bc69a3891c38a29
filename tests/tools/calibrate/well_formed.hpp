// SPDX-License-Identifier: Apache-2.0
// Whether a text is well-formed XML, as far as pages of calibrations need it: elements balance,
// attributes are quoted and named once, nothing is left unescaped, and the entities are XML's own.
//
// Where it sits: tests of pages and pictures.
#pragma once

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// What is wrong, with what follows there; empty: nothing.
inline std::string fault_of_xml(std::string_view text) {
  std::size_t at = 0;
  std::vector<std::string> open;
  bool had_root = false;
  const auto fault = [&](const std::string& what) { return what + " at: " + std::string(text.substr(at, 60)); };
  const auto name_at = [&] {
    const std::size_t from = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '-' || text[at] == ':'))
      ++at;
    return std::string(text.substr(from, at - from));
  };
  const auto skip_blanks = [&] {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  };
  const auto is_entity = [&] {
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (text.substr(at).starts_with(entity)) return true;
    }
    return false;
  };
  if (constexpr std::string_view doctype = "<!DOCTYPE html>\n"; text.starts_with(doctype)) at = doctype.size();
  while (at < text.size()) {
    if (text[at] == '&' && !is_entity()) return fault("no entity");
    if (text[at] == '>') return fault("stray >");
    if (text[at] != '<') {
      if (open.empty() && std::isspace(static_cast<unsigned char>(text[at])) == 0) return fault("text outside");
      ++at;
      continue;
    }
    ++at;
    if (at < text.size() && text[at] == '/') {
      ++at;
      const std::string name = name_at();
      if (open.empty() || open.back() != name) return fault("closes " + name);
      open.pop_back();
      if (at >= text.size() || text[at] != '>') return fault("no end of " + name);
      ++at;
      continue;
    }
    const std::string name = name_at();
    if (name.empty()) return fault("no name");
    if (open.empty() && had_root) return fault("second root");
    had_root = true;
    std::set<std::string> attributes;
    for (skip_blanks(); at < text.size() && text[at] != '>' && text[at] != '/'; skip_blanks()) {
      const std::string attribute = name_at();
      if (attribute.empty() || !attributes.insert(attribute).second) return fault("bad attribute of " + name);
      if (!text.substr(at).starts_with("=\"")) return fault("no value of " + attribute);
      for (at += 2; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '<' || (text[at] == '&' && !is_entity())) return fault("unescaped in " + attribute);
      }
      ++at;
    }
    const bool is_empty = at < text.size() && text[at] == '/';
    if (is_empty) ++at;
    if (at >= text.size() || text[at] != '>') return fault("no end of " + name);
    ++at;
    if (!is_empty) open.push_back(name);
  }
  return open.empty() ? (had_root ? "" : "no element") : "open: " + open.back();
}

}  // namespace weft
