// Chakra JSON: the JSON form of a Chakra trace, as chakra_jsonizer writes it.
//
//   {"version": "0.0.4"}{"name": "COMP", "type": "COMP_NODE", "durationMicros": "5", "attr": [{"name": "is_cpu_op", "boolVal": false}]}{...
//   {"global_metadata": {...}, "nodes": [{...}, {...}]}
//
// Where it sits: a source of nodes for formats/chakra_trace, beside the binary form.
//
// What is accepted: protobuf's JSON mapping of the same messages. Either objects one after the other, the metadata first, or one object with a
// list "nodes". Keys in camelCase or snake_case; what is left out is zero. Whole numbers as numbers or as texts; the node type by name
// (COMP_NODE, ...) or number. Attribute values: doubleVal, floatVal, int32Val, int64Val, uint32Val, uint64Val, sint32Val, sint64Val, fixed32Val,
// fixed64Val, sfixed32Val, sfixed64Val, boolVal, stringVal, bytesVal, and lists of them, of which only boolList is looked at. A key that the
// messages do not have is an error.
// The text is held while it is read; each node is parsed by itself (simdjson), so that errors can tell its line.
// Errors: [empty-file], [not-utf8], [not-json], [truncated-file], [unknown-field], [bad-value], [unknown-node-type], [not-chakra].
// Thread safety: pure functions.
#pragma once

#include <memory>
#include <string>

#include "workloads/formats/chakra/chakra_message.hpp"

namespace weft {

/// Throws InputError.
std::unique_ptr<ChakraSource> open_chakra_json(const std::string& path);

}  // namespace weft
