// SPDX-License-Identifier: Apache-2.0
// JSON list: the objects of a list at the top of a JSON document, each with its place.
//
// Where it sits: under the readers of what Slurm's commands print with --json.
// Model: Slurm 22.05 writes numbers plain, later versions as {"set": true, "infinite": false,
// "number": 5}; both are read.
// Threads: belongs to one thread; the source outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/source_text.hpp"

namespace weft {

/// An object of the list. A field that is missing, null or of another kind counts as not given.
class JsonEntry {
 public:
  JsonEntry(const SourceText& source, const nlohmann::json& object, std::size_t offset)
      : source_(&source), object_(&object), offset_(offset) {}

  int line() const;
  /// Of a field's name; of the object if there is no such field.
  SourcePlace place(std::string_view field = {}) const;
  /// A text or a number; "" if it is not given. `path` may lead into objects: "state/current".
  std::string text(std::string_view path) const;
  /// A text, or the texts of a list.
  std::vector<std::string> texts(std::string_view path) const;
  /// A whole number that is not negative; none if it is not given or infinite.
  std::optional<std::uint64_t> number(std::string_view path) const;
  /// The objects of a list, placed where this one is.
  std::vector<JsonEntry> entries(std::string_view path) const;

 private:
  /// Null if it is not given.
  const nlohmann::json* find(std::string_view path) const;

  const SourceText* source_;
  const nlohmann::json* object_;
  std::size_t offset_;
};

class JsonList {
 public:
  /// `command` is what prints such a document. Throws InputError [bad-json], [bad-value],
  /// [missing-field].
  JsonList(const SourceText& source, const std::string& key, const std::string& command);
  ~JsonList();
  JsonList(const JsonList&) = delete;
  JsonList& operator=(const JsonList&) = delete;

  const std::vector<JsonEntry>& entries() const { return entries_; }

 private:
  std::unique_ptr<nlohmann::json> document_;
  std::vector<JsonEntry> entries_;
};

}  // namespace weft
