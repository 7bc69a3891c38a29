// SPDX-License-Identifier: Apache-2.0
// Report template: the page of tools/report/page, as it was built, inside this program.
// Threads: a constant.
#pragma once

#include <string_view>

namespace weft {

/// Empty where the program was built without it (WEFT_REPORT=OFF).
std::string_view report_template();

}  // namespace weft
