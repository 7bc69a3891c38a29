// SPDX-License-Identifier: Apache-2.0
#include "core/text/text_lines.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "core/text/input_file.hpp"
#include "core/text/source_text.hpp"

namespace weft {

struct TextLines::State {
  static constexpr std::size_t block_bytes = 1U << 18;

  explicit State(const std::string& path) : file(path) {}

  InputFile file;
  std::vector<char> buffer = std::vector<char>(block_bytes);
  std::size_t begin = 0;  ///< of what is still to be read
  std::size_t end = 0;
  bool at_end = false;
  std::string_view line;
  int number = 0;

  [[noreturn]] void fail(std::string code, std::string message, std::string help) const {
    weft::fail(std::move(code), std::move(message), file.place(), std::move(help));
  }

  /// Moves what is left to the front and reads on behind it.
  void refill() {
    std::memmove(buffer.data(), buffer.data() + begin, end - begin);
    end -= begin;
    begin = 0;
    if (end == buffer.size()) buffer.resize(buffer.size() * 2);
    const std::size_t n = file.read(buffer.data() + end, buffer.size() - end);
    end += n;
    at_end = n == 0;
  }
};

TextLines::TextLines(const std::string& path) : state_(std::make_unique<State>(path)) {
  State& s = *state_;
  while (!s.at_end && s.end < SourceText::byte_order_mark.size()) s.refill();
  const std::string_view start(s.buffer.data(), s.end);
  if (start.starts_with(SourceText::byte_order_mark)) s.begin = SourceText::byte_order_mark.size();
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF")) {
    s.fail("not-utf8", "the file is UTF-16 text, by its byte order mark", "save it as UTF-8");
  }
}

TextLines::~TextLines() = default;

const std::string& TextLines::path() const { return state_->file.path(); }

bool TextLines::next() {
  State& s = *state_;
  std::size_t searched = 0;
  for (;;) {
    const char* first = s.buffer.data() + s.begin;
    const std::size_t length = s.end - s.begin;
    const void* found = length > searched ? std::memchr(first + searched, '\n', length - searched) : nullptr;
    if (found == nullptr && !s.at_end) {
      searched = length;
      s.refill();
      continue;
    }
    if (found == nullptr && length == 0) return false;
    const std::size_t line_length = found == nullptr ? length : static_cast<std::size_t>(static_cast<const char*>(found) - first);
    s.line = std::string_view(first, line_length);
    if (!s.line.empty() && s.line.back() == '\r') s.line.remove_suffix(1);
    s.begin += line_length + (found == nullptr ? 0 : 1);
    if (s.number == INT_MAX) s.fail("too-large", "the file has more lines than can be counted", "cut it into parts");
    ++s.number;
    return true;
  }
}

std::string_view TextLines::line() const { return state_->line; }

int TextLines::number() const { return state_->number; }

SourcePlace TextLines::place(std::size_t offset, std::size_t length) const {
  SourcePlace place = whole_file();
  place.line = state_->number;
  place.column = static_cast<int>(std::min<std::size_t>(offset, INT_MAX - 1)) + 1;
  place.length = static_cast<int>(std::clamp<std::size_t>(length, 1, INT_MAX));
  place.show(state_->line);
  return place;
}

SourcePlace TextLines::whole_file() const { return state_->file.place(); }

SourcePlace place_in_line(const std::string& path, int line, int column, int length) {
  SourcePlace place = SourcePlace::named(path);
  place.line = line;
  place.column = column;
  place.length = length;
  TextLines lines(path);
  while (lines.number() < line && lines.next()) continue;
  if (lines.number() == line) place.show(lines.line());
  return place;
}

}  // namespace weft
