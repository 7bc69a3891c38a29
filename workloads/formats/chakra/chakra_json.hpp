// SPDX-License-Identifier: Apache-2.0
// Chakra JSON: a Chakra trace as text, as chakra_jsonizer and Chakra's JSON feeder write it.
//
//   {"version": "0.0.4"}{"name": "COMP", "type": "COMP_NODE", "durationMicros": "5"}{...
//   {"global_metadata": {...}, "nodes": [{...}, {...}]}
//   {"workload_graph": [{"Id": 0, "Name": "COMP", "NodeType": 4, "runtime": 5, "data_deps": []}]}
//
// Where it sits: a source of nodes for formats/chakra_trace, beside the binary form.
//
// The first two forms are protobuf's JSON mapping of the messages. Keys are in camelCase or
// snake_case, numbers may be texts, and what is left out is zero. The third is read by
// src/feeder/JSONNode.cpp of Chakra: attributes are plain keys, and runtime is in microseconds.
// A key that a node does not have is an error. Of attribute lists only boolList is looked at.
// An execution trace of PyTorch (ExecutionTraceObserver) is refused with the way to convert it.
//
// The text is held while it is read. Each node is parsed by itself (simdjson), so that errors can
// tell its line.
// Errors: [empty-file], [not-utf8], [not-json], [truncated-file], [unknown-field], [bad-value],
// [unknown-node-type], [not-chakra].
// Thread safety: pure functions.
#pragma once

#include <memory>
#include <string>

#include "workloads/formats/chakra/chakra_message.hpp"

namespace weft {

/// Throws InputError.
std::unique_ptr<ChakraSource> open_chakra_json(const std::string& path);

}  // namespace weft
