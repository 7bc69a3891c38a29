// SPDX-License-Identifier: Apache-2.0
// A text or binary input file held in memory, able to say where in it something stands.
//
// Where it sits: every reader starts with SourceText::read(); the places it makes end up in
// diagnostics.
// gzip files are unpacked while reading (core/text/input_file), so every format may be compressed.
// A UTF-8 byte order mark is left out.
// Thread safety: immutable after construction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"

namespace weft {

/// Whether a text is UTF-8, and has no byte 0.
bool is_utf8(std::string_view text);

class SourceText {
 public:
  /// Reads a whole file. Throws what InputFile does.
  static SourceText read(const std::string& path);
  static constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  /// Wraps a text that did not come from a file; `name` is what diagnostics call it.
  SourceText(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::size_t line_count() const { return line_starts_.size(); }
  /// Text of a line (1-based) without its line end.
  std::string_view line(std::size_t number) const;

  SourcePlace whole_file() const;
  /// Requires: line >= 1. `column` from 1, 0 for the whole line.
  SourcePlace at(int line, int column = 0, int length = 1) const;
  /// Place of a byte offset.
  SourcePlace at_offset(std::size_t offset, int length = 1) const;

  /// Throws InputError [empty-file] for a file of blanks only and [not-utf8] for bytes that are no
  /// UTF-8.
  void require_utf8_text(std::string_view what) const;

 private:
  std::size_t line_end(std::size_t number) const;

  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
};

}  // namespace weft
