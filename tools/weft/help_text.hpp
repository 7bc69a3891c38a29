// SPDX-License-Identifier: Apache-2.0
// Help text: what `--help` prints, in lines of at most 80 columns that break between words.
//
// Where it sits: the formatter of the command line (tools/weft/command_line).
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::size_t help_columns = 80;

/// Wraps each line that is too long. What goes on stands below the beginning of the line, below the
/// description of an option, or, of an example ("  weft run ..."), two columns further behind a
/// backslash. Lines of prose that follow each other are a paragraph and are filled anew. A word
/// that is too long stays whole.
std::string wrapped_help(std::string_view text);

}  // namespace weft
