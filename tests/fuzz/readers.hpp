// SPDX-License-Identifier: Apache-2.0
// The readers that take files from outside, by name: what the fuzzer feeds and what the corpus is
// replayed through.
//
// A reader may refuse any input with InputError; every other exception, crash, sanitizer report or
// endless loop is a finding.
// Adding a reader: one line in readers.cpp and a folder corpus/NAME with a few small inputs, right
// ones and wrong ones.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft {

struct FuzzedReader {
  std::string_view name;  ///< also of its folder below corpus/
  /// Reads the file; throws InputError where it refuses it.
  void (*read)(const std::string& path);
};

std::span<const FuzzedReader> fuzzed_readers();

/// Feeds `content` to the reader as a file; false if the reader refuses it with InputError.
bool feed(const FuzzedReader& reader, std::string_view content);

}  // namespace weft
