// SPDX-License-Identifier: Apache-2.0
// WEFT_CHECK: a condition that only a bug in Weft can break.
//
// It is on in release builds. When it fails, a `CheckFailure` is thrown that carries the
// expression, the place in the source and a sentence on what was expected; the `weft` command
// prints it and exits with status 3. Whatever the user can cause is an InputError
// (core/text/diagnostics.hpp), never a WEFT_CHECK.
// Code that knows the simulated time and the entity adds both to the sentence (see EventProcess).
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

/// A broken invariant of Weft itself.
class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Simulated time or a size no longer fits 64 bits. Only huge inputs cause it, so the `weft`
/// command treats it as an input error.
class OverflowFailure : public CheckFailure {
 public:
  using CheckFailure::CheckFailure;
};

/// Builds with assertions (without NDEBUG: sanitized ones) audit more than is cheap. All of a
/// program is built with or without.
#ifdef NDEBUG
inline constexpr bool audits_state = false;
#else
inline constexpr bool audits_state = true;
#endif

[[noreturn]] void fail_check(const char* expression, const std::string& expectation, const char* file, int line);

}  // namespace weft

#define WEFT_CHECK(condition, expectation)                               \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::weft::fail_check(#condition, (expectation), __FILE__, __LINE__); \
  } while (false)
