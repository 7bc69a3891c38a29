// SPDX-License-Identifier: Apache-2.0
// Builder error: a parameter that a topology builder cannot build from.
//
// Where it sits: every such message begins with the name of the builder, as the user wrote it.
// Thread safety: pure function.
#pragma once

#include <string>
#include <string_view>

#include "core/text/diagnostics.hpp"

namespace weft {

/// Throws an InputError whose message is "BUILDER: MESSAGE".
[[noreturn]] void fail_builder(std::string_view builder, std::string code, std::string_view message, const SourcePlace& place,
                               std::string help);

}  // namespace weft
