// SPDX-License-Identifier: Apache-2.0
// JSON text: how JSON is printed, whatever bytes users' names have.
//
// Where it sits: whoever prints JSON or writes it to a file; nlohmann::json's own dump() throws on
// text that is not UTF-8, as names of files and strings with escapes may be.
// Threads: pure.
#pragma once

#include <string>

namespace weft {

/// `Json`: nlohmann::json or nlohmann::ordered_json. Bytes that are no UTF-8 come out as U+FFFD.
/// `indent` -1: on one line.
template <class Json>
std::string printed_json(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft
