// SPDX-License-Identifier: Apache-2.0
#include "core/check.hpp"

#include <fmt/format.h>

namespace weft {

void fail_check(const char* expression, const std::string& expectation, const char* file, int line) {
  throw CheckFailure(fmt::format("{}:{}: check failed: {} ({})", file, line, expectation, expression));
}

}  // namespace weft
