// SPDX-License-Identifier: Apache-2.0
// Text pool: texts that outlive the rows they came with, each kept once.
//
// Where it sits: sinks that keep rows (memory_sink, flow_classes, trace_file), since the names in a
// row are views that are valid only while the row is handed over.
// Threads: belongs to one thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_set>

namespace weft {

class TextPool {
 public:
  /// The same text, valid as long as the pool. Equal texts have one address.
  std::string_view keep(std::string_view text);
  /// Replaces the names of a row by those that are kept.
  template <class Row, class... Names>
  void keep_names(Row& row, Names... names) {
    ((row.*names = keep(row.*names)), ...);
  }
  void clear();

 private:
  /// Texts come again and again from the same places.
  struct Recent {
    std::string_view given;
    std::string_view kept;
  };

  std::unordered_set<std::string> texts_;  ///< looked up only
  std::array<Recent, 256> recent_{};       ///< by the address of the given text
};

}  // namespace weft
