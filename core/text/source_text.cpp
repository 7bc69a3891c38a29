// SPDX-License-Identifier: Apache-2.0
#include "core/text/source_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "core/text/input_file.hpp"
#include "core/text/out_of_memory.hpp"

namespace weft {

namespace {

/// Offset behind the words of memory from `i` on that hold ASCII only and no zero byte. Most of a
/// large file is such.
std::size_t skip_ascii(std::string_view text, std::size_t i) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  constexpr std::uint64_t top_bits = 0x8080808080808080;
  std::uint64_t word = 0;
  for (; i + sizeof word <= text.size(); i += sizeof word) {
    std::memcpy(&word, text.data() + i, sizeof word);
    // A top bit of the word itself is no ASCII; one that only the subtraction sets tells a zero
    // byte.
    if (((word | (word - ones)) & top_bits) != 0) break;
  }
  return i;
}

/// Offset of the first byte that is not part of valid UTF-8, or npos.
std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    i = skip_ascii(text, i);
    if (i == text.size()) break;
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char lead = byte(i);
    std::size_t length = 1;
    if (lead == 0) return i;
    if (lead >= 0x80) {
      if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
      } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
      } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
      } else {
        return i;
      }
      if (i + length > text.size()) return i;
      for (std::size_t k = 1; k < length; ++k) {
        if ((byte(i + k) & 0xC0) != 0x80) return i;
      }
    }
    i += length;
  }
  return std::string_view::npos;
}

}  // namespace

bool is_utf8(std::string_view text) { return first_invalid_utf8(text) == std::string_view::npos; }

SourceText SourceText::read(const std::string& path) {
  return naming_memory_use(fmt::format("while reading {}", path), [&path] {
    InputFile file(path);
    std::string text;
    // What a plain file holds; packed ones hold more. Beyond a gigabyte the text may grow as it
    // comes.
    constexpr std::uint64_t reserved_max = 1U << 30;
    text.reserve(std::min(file.stored_size(), reserved_max));
    std::vector<char> chunk(1 << 18);
    while (const std::size_t n = file.read(chunk.data(), chunk.size())) text.append(chunk.data(), n);
    if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
    return SourceText(path, std::move(text));
  });
}

SourceText::SourceText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (std::size_t end = text_.find('\n'); end != std::string::npos && end + 1 < text_.size(); end = text_.find('\n', end + 1)) {
    line_starts_.push_back(end + 1);
  }
}

std::string_view SourceText::line(std::size_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  const std::size_t begin = line_starts_[number - 1];
  std::string_view rest = std::string_view(text_).substr(begin, line_end(number) - begin);
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

std::size_t SourceText::line_end(std::size_t number) const {
  if (number < line_starts_.size()) return line_starts_[number] - 1;
  return text_.ends_with('\n') ? text_.size() - 1 : text_.size();
}

SourcePlace SourceText::whole_file() const { return SourcePlace::named(name_); }

SourcePlace SourceText::at(int line_number, int column, int length) const {
  SourcePlace place = whole_file();
  place.line = line_number;
  place.column = column;
  place.length = length;
  place.show(line(static_cast<std::size_t>(line_number)));
  return place;
}

SourcePlace SourceText::at_offset(std::size_t offset, int length) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto index = static_cast<std::size_t>(after - line_starts_.begin());
  return at(static_cast<int>(index), static_cast<int>(offset - line_starts_[index - 1]) + 1, length);
}

void SourceText::require_utf8_text(std::string_view what) const {
  if (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF")) {
    fail("not-utf8", "the file is UTF-16 text, by its byte order mark", whole_file(),
         fmt::format("a {} is a text file in UTF-8; save it as that", what));
  }
  if (std::all_of(text_.begin(), text_.end(), [](unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); })) {
    fail("empty-file", "the file is empty", whole_file(), fmt::format("a {} is expected here", what));
  }
  const std::size_t bad = first_invalid_utf8(text_);
  if (bad != std::string_view::npos) {
    fail("not-utf8", "the file is not UTF-8 text", at_offset(bad),
         fmt::format("a {} is a text file; is this a binary file or another encoding?", what));
  }
}

}  // namespace weft
