// SPDX-License-Identifier: Apache-2.0
#include "topologies/builders/builder_error.hpp"

#include <utility>

#include <fmt/format.h>

namespace weft {

void fail_builder(std::string_view builder, std::string code, std::string_view message, const SourcePlace& place,
                  std::string help) {
  fail(std::move(code), fmt::format("{}: {}", builder, message), place, std::move(help));
}

}  // namespace weft
