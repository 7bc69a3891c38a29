// SPDX-License-Identifier: Apache-2.0
#include "core/text/diagnostics.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include "core/text/counted.hpp"

namespace weft {

namespace {

/// Length of the valid UTF-8 sequence at the front of `text`, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const unsigned char c = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    if (length == 0 || (length == 1 && (c < 0x20 || c == 0x7F) && c != '\t')) {
      constexpr char hex_digits[] = "0123456789abcdef";
      out += "\\x";
      out += hex_digits[c >> 4];
      out += hex_digits[c & 15];
      text.remove_prefix(1);
    } else {
      out += c == '\t' ? std::string(" ") : std::string(text.substr(0, length));
      text.remove_prefix(std::max<std::size_t>(length, 1));
    }
  }
  return out;
}

/// Places on the screen that valid UTF-8 takes, one per character.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::string joined_text(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += diagnostic.to_text();
  return text;
}

constexpr std::string_view too_many_errors = "too-many-errors";

/// The line that ends a report of more errors than are kept.
Diagnostic left_out(std::size_t count, SourcePlace whole_file) {
  return {Severity::error, std::string(too_many_errors),
          fmt::format("{} not shown", counted(count, "more error is", "more errors are")), std::move(whole_file),
          "mend the errors above and check again"};
}

/// How many errors `error` stands for: 1, or as many as left_out() was told.
std::size_t error_count_of(const Diagnostic& error) {
  std::size_t count = 1;
  if (error.code == too_many_errors) std::from_chars(error.message.data(), error.message.data() + error.message.size(), count);
  return count;
}

}  // namespace

void SourcePlace::show(std::string_view text) {
  const std::size_t at = column > 0 ? static_cast<std::size_t>(column) - 1 : 0;
  const std::size_t first = text.size() <= shown_max || at <= shown_max / 2 ? 0 : std::min(at - shown_max / 2, text.size());
  line_text = std::string(text.substr(first, shown_max));
  shown_from = static_cast<int>(first);
}

std::string Diagnostic::to_text() const {
  std::string text = printable(place.file);
  if (place.line > 0) {
    text += fmt::format(":{}", place.line);
    if (place.column > 0) text += fmt::format(":{}", place.column);
  }
  text += severity == Severity::error ? ": error: " : ": warning: ";
  text += fmt::format("{} [{}]\n", printable(message), code);
  if (place.line > 0 && !place.line_text.empty()) {
    const std::string_view source = place.line_text;
    const auto first = static_cast<std::size_t>(place.shown_from);
    const std::size_t column = place.column > 0 ? static_cast<std::size_t>(place.column) - 1 : 0;
    const std::string number = fmt::to_string(place.line);
    const std::string margin(number.size() < 5 ? 5 - number.size() : 0, ' ');
    text += fmt::format("{}{} | {}\n", margin, number, printable(source));
    if (place.column > 0 && column >= first) {
      const std::size_t offset = std::min(column - first, source.size());
      const std::size_t length = static_cast<std::size_t>(std::max(place.length, 1));
      const std::size_t underlined = std::max<std::size_t>(columns(printable(source.substr(offset, length))), 1);
      text += std::string(margin.size() + number.size(), ' ') + " | ";
      text +=
          fmt::format("{}^{}\n", std::string(columns(printable(source.substr(0, offset))), ' '), std::string(underlined - 1, '~'));
    }
  }
  if (!help.empty()) text += fmt::format("  help: {}\n", printable(help));
  return text;
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(joined_text(diagnostics)), diagnostics_(std::move(diagnostics)) {}

void fail(std::string code, std::string message, SourcePlace place, std::string help, std::string option) {
  throw InputError({Severity::error, std::move(code), std::move(message), std::move(place), std::move(help), std::move(option)});
}

void Diagnostics::error(std::string code, std::string message, SourcePlace place, std::string help) {
  add({Severity::error, std::move(code), std::move(message), std::move(place), std::move(help)});
}

void Diagnostics::warning(std::string code, std::string message, SourcePlace place, std::string help) {
  add({Severity::warning, std::move(code), std::move(message), std::move(place), std::move(help)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  const bool is_error = diagnostic.severity == Severity::error;
  if (is_error) error_count_ += error_count_of(diagnostic);
  // What another report left out is counted with what this one leaves out, and told in one line.
  const bool is_kept = error_count_ <= kept_errors_max && diagnostic.code != too_many_errors;
  if (!is_error || is_kept) kept_.push_back(std::move(diagnostic));
}

void Diagnostics::throw_if_errors() const {
  if (!has_errors()) return;
  std::vector<Diagnostic> errors = kept_;
  const auto shown = static_cast<std::size_t>(
      std::count_if(errors.begin(), errors.end(), [](const Diagnostic& one) { return one.severity == Severity::error; }));
  if (error_count_ > shown) {
    errors.push_back(left_out(error_count_ - shown, SourcePlace::named(errors.empty() ? "" : errors.back().place.file)));
  }
  throw InputError(std::move(errors));
}

std::string in_quotes(std::string_view text) {
  std::size_t length = std::min(text.size(), quoted_length_max);
  // Not inside a character of UTF-8, whose further bytes are 10xxxxxx.
  while (length < text.size() && length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  std::string out = "\"";
  out += text.substr(0, length);
  if (length < text.size()) out += "...";
  out += '"';
  return out;
}

std::string closest(std::string_view text, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(text, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view text, std::span<const std::string> candidates, std::string_view noun) {
  const std::string best = closest(text, candidates);
  if (!best.empty()) return fmt::format("did you mean \"{}\"?", best);
  if (candidates.empty()) return fmt::format("no {} is known here", noun);
  constexpr std::size_t listed = 16;
  std::string list = "known: ";
  for (std::size_t i = 0; i < std::min(candidates.size(), listed); ++i) list += (i == 0 ? "" : ", ") + candidates[i];
  if (candidates.size() > listed) list += fmt::format(", and {} more", candidates.size() - listed);
  return list;
}

}  // namespace weft
