// SPDX-License-Identifier: Apache-2.0
// Overrides: single fields of a message that was read from protobuf text, set from "field=value".
//
// Where it sits: commands that read a file let users change some of its fields by flags.
// Fields of messages inside are reached by a path: "recompute.kind=UNIFORM". A repeated field takes
// one more value.
// Threads: pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <string_view>

#include "core/text/diagnostics_fwd.hpp"

namespace weft {

/// Throws InputError at `place`: [bad-setting] without "=", [unknown-field] with a suggestion,
/// [bad-value].
void override_field(google::protobuf::Message& message, std::string_view setting, const SourcePlace& place);

}  // namespace weft
