// SPDX-License-Identifier: Apache-2.0
// The code of the first error that a call ends with.
#pragma once

#include <functional>
#include <string>

#include "core/text/diagnostics.hpp"

namespace weft {

/// "" where it ends without an InputError.
inline std::string error_code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.diagnostics().front().code;
  }
  return "";
}

}  // namespace weft
