// SPDX-License-Identifier: Apache-2.0
// An XML file that can say where its elements and attributes stand.
//
// Where it sits: formats/simgrid and formats/nccl_topology read their files through it; pugixml
// parses.
//
// Strict where pugixml is lenient: one root element of the expected name, no text between elements,
// no attribute twice, and check() refuses attributes and elements that the format does not know. A
// document type and comments are skipped.
// Thread safety: belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/text/source_text.hpp"

namespace weft {

class XmlFile {
 public:
  /// Elements nest at most this deep, so that readers may follow them by recursion.
  static constexpr int depth_max = 64;

  /// Throws InputError [bad-xml] with the place where parsing ended, [wrong-root], [stray-text],
  /// [duplicate-attribute], [too-deep]. `what` is what the root element stands for, such as "a
  /// SimGrid platform"; `with_text` is an element that may hold text.
  XmlFile(const SourceText& source, std::string_view root, std::string_view what, Diagnostics& diagnostics,
          std::string_view with_text = {});

  pugi::xml_node root() const { return root_; }
  Diagnostics& diagnostics() const { return diagnostics_; }

  SourcePlace place(pugi::xml_node element) const;
  /// The attribute's value; the element if it has no such attribute.
  SourcePlace place(pugi::xml_node element, std::string_view attribute) const;

  /// Adds [unknown-attribute] and [unknown-element] for whatever is not listed.
  void check(pugi::xml_node element, std::span<const std::string> attributes, std::span<const std::string> elements) const;

  /// The value of an attribute that must be there and not empty; adds [missing-attribute].
  std::optional<std::string> required(pugi::xml_node element, const char* attribute) const;

  /// A whole number; adds [bad-number]. Requires: the attribute is there.
  std::optional<std::int64_t> integer(pugi::xml_node element, const char* attribute) const;

 private:
  class ContentWalker;
  void check_content(std::string_view with_text);

  const SourceText& source_;
  Diagnostics& diagnostics_;
  pugi::xml_document document_;
  pugi::xml_node root_;
};

}  // namespace weft
