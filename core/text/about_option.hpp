// SPDX-License-Identifier: Apache-2.0
// About an option: mistakes that a reader finds are told to be about one of its options.
//
// Where it sits: readers of formats wrap what depends on an option; whoever names the reader's file
// shows the mistake at the flag or field of that option (core/text/option_names).
// Thread safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft {

/// Calls and returns what that returns. InputErrors that it throws are about the option.
template <class Call>
auto about_option(const std::string& option, const Call& call) {
  try {
    return call();
  } catch (const InputError& error) {
    std::vector<Diagnostic> diagnostics(error.diagnostics().begin(), error.diagnostics().end());
    for (Diagnostic& diagnostic : diagnostics) diagnostic.option = option;
    throw InputError(std::move(diagnostics));
  }
}

}  // namespace weft
