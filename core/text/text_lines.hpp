// SPDX-License-Identifier: Apache-2.0
// Text lines: reads a text file front to back, line by line, without holding it in memory; gzip
// files are unpacked on the way.
//
// Where it sits: under the readers of texts that run to hundreds of megabytes (formats/goal).
// Smaller texts are read with core/text/source_text, which can look anywhere in the file.
// Invariant: holds one block, or the longest line if that is longer; never more than what the file
// really holds.
// Thread safety: one reader belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"

namespace weft {

class TextLines {
 public:
  /// Throws what InputFile does, and [not-utf8] for UTF-16.
  explicit TextLines(const std::string& path);
  ~TextLines();
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  const std::string& path() const;
  /// Goes to the next line, the first one at first; false at the end of the file. Throws InputError
  /// [bad-gzip], [too-large].
  bool next();
  /// Text of the line without its line end; valid until the next call of next().
  std::string_view line() const;
  /// From 1; 0 before the first call of next(). At the end of the file: that of the last line.
  int number() const;

  /// Place of a piece of the current line.
  SourcePlace place(std::size_t offset, std::size_t length) const;
  SourcePlace whole_file() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Place in a line that was read before: fetches its text by reading the file again. For messages.
SourcePlace place_in_line(const std::string& path, int line, int column, int length);

}  // namespace weft
