// SPDX-License-Identifier: Apache-2.0
// Diagnostics: what is wrong with the user's input, where, and what to do about it.
//
//   cluster.textproto:41:13: error: op "ar_7" depends on unknown op "bwd_06" [unknown-op]
//      41 |     deps: "bwd_06"
//         |           ^~~~~~~~
//     help: did you mean "bwd_6"? it is defined at line 33
//
// Readers collect every error of a file in a `Diagnostics` and throw them together as one
// InputError, which the `weft` command prints before it exits with status 2. A broken invariant of
// Weft itself is a WEFT_CHECK (core/check.hpp).
// Thread safety: one `Diagnostics` belongs to one thread.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// A place in an input. `line` and `column` count from 1; line 0 means the file as a whole, column
/// 0 the whole line.
struct SourcePlace {
  std::string file;  ///< path as the user wrote it, or "--flag" for a command-line value
  int line = 0;
  int column = 0;
  int length = 1;         ///< characters to underline
  std::string line_text;  ///< what is shown of the source line, for the caret; may be empty
  int shown_from = 0;     ///< bytes of the line before that

  /// Longer lines are shown as a window of this many bytes around the column.
  static constexpr std::size_t shown_max = 120;
  /// Shows `line`. Requires: `column` is set. A place holds no more of the line than is shown:
  /// files of one long line have many places.
  void show(std::string_view line);

  /// A file as a whole, or a flag.
  static SourcePlace named(std::string name) {
    SourcePlace place;
    place.file = std::move(name);
    return place;
  }
};

enum class Severity { error, warning };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;     ///< short kebab-case name of this kind of mistake, e.g. "unknown-op"
  std::string message;  ///< one sentence without a final stop
  SourcePlace place;
  std::string help;  ///< what to do; may be empty
  /// The reader's option that is wrong, by its field's name ("time_unit"); empty where no option
  /// is.
  std::string option = {};

  /// The text above, with a final newline. Bytes that are not printable ASCII or UTF-8 are shown as
  /// \xNN.
  std::string to_text() const;
};

/// The user's file or flag is wrong. Holds at least one error.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  explicit InputError(Diagnostic diagnostic) : InputError(std::vector<Diagnostic>{std::move(diagnostic)}) {}

  std::span<const Diagnostic> diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
};

/// Throws an InputError of one error.
[[noreturn]] void fail(std::string code, std::string message, SourcePlace place, std::string help = {}, std::string option = {});

/// Collects diagnostics of one input so that all are reported together.
class Diagnostics {
 public:
  /// More errors than this are counted but not kept; the report ends with how many were left out.
  static constexpr std::size_t kept_errors_max = 20;

  void error(std::string code, std::string message, SourcePlace place, std::string help = {});
  void warning(std::string code, std::string message, SourcePlace place, std::string help = {});
  void add(Diagnostic diagnostic);

  bool has_errors() const { return error_count_ > 0; }
  std::size_t error_count() const { return error_count_; }
  /// Further errors are counted only: their places need not be looked for.
  bool is_full() const { return error_count_ >= kept_errors_max; }
  std::span<const Diagnostic> all() const { return kept_; }

  /// Throws an InputError with every error collected, if there is one.
  void throw_if_errors() const;

 private:
  std::vector<Diagnostic> kept_;
  std::size_t error_count_ = 0;
};

/// The text between double quotes, as messages name what the user wrote; cut after
/// `quoted_length_max` bytes, with "..." inside.
std::string in_quotes(std::string_view text);
constexpr std::size_t quoted_length_max = 240;

/// The candidate closest to `text` by edit distance, if it is close enough to be a misspelling;
/// else "".
std::string closest(std::string_view text, std::span<const std::string> candidates);

/// `help` line for an unknown name: "did you mean "x"?" when one is close, else "known NOUNs: a, b,
/// c".
std::string suggestion(std::string_view text, std::span<const std::string> candidates, std::string_view noun);

}  // namespace weft
