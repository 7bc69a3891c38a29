// SPDX-License-Identifier: Apache-2.0
// Chakra message: a node of a Chakra trace as the file says it, and its decoding from the wire.
//
// Where it sits: formats/chakra_trace reads nodes one by one from a source - the binary files (.et)
// through decode_chakra_node(), or their JSON form (formats/chakra_json) - and makes ops of them.
//
// Wire layout (MLCommons Chakra, et_def.proto)
//   GlobalMetadata  version = 1; attr = 2, repeated Attribute
//   Node            id = 1, name = 2, type = 3, ctrl_deps = 4, data_deps = 5, start_time_micros =
//                   6, duration_micros = 7, inputs = 8 and outputs = 9 { values = 1 }, attr = 10,
//                   repeated Attribute
//   Attribute       name = 1, doc = 2, and one value: double 3, float 5, int32 7, int64 9, uint32
//                   11, uint64 13, sint32 15, sint64 17, fixed32 19, fixed64 21, sfixed32 23,
//                   sfixed64 25, bool 27, string 29, bytes 31; the number after each is a list of
//                   them
// Messages are scanned field by field rather than through generated classes, because a trace has
// millions of nodes and Weft looks at a dozen of their fields. As in protobuf, unknown fields are
// skipped, repeated numbers may be packed or not, and of a field that is given twice the last one
// counts. Groups, which proto3 does not have, are refused.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"

namespace weft {

struct ChakraNumber {
  std::uint64_t magnitude = 0;
  bool negative = false;
};

/// Value of an attribute, whatever width it was written with.
struct ChakraValue {
  std::optional<ChakraNumber> number;  ///< whole numbers
  std::optional<std::string_view> text;
  bool is_true = false;
  bool lists_false = false;  ///< a list of booleans of which one is false
};

/// The fields of a node that Weft reads. Texts are valid until the next node is read.
struct ChakraMessage {
  std::uint64_t id = 0;
  std::string_view name;
  std::uint32_t type = 0;
  std::vector<std::uint64_t> control_dependencies;
  std::vector<std::uint64_t> data_dependencies;
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  std::string_view inputs;   ///< values of the inputs
  std::string_view outputs;  ///< values of the outputs

  // Attributes
  bool is_cpu_op = false;
  bool is_pytorch = false;
  bool has_num_ops = false;
  bool has_tensor_size = false;
  bool partial_dimensions = false;  ///< involved_dim excludes a dimension
  std::optional<ChakraNumber> comm_type;
  std::optional<ChakraNumber> comm_size;
  std::optional<ChakraNumber> comm_source;
  std::optional<ChakraNumber> comm_destination;
  std::optional<ChakraNumber> comm_tag;
  std::optional<ChakraNumber> comm_priority;
  std::optional<ChakraNumber> stream;
  std::optional<ChakraNumber> thread;
  std::string_view group_text;  ///< pg_name
  std::optional<ChakraNumber> group_number;

  void set_attribute(std::string_view attribute, const ChakraValue& value);
  /// Back to nothing; keeps memory.
  void clear();
};

/// Where nodes come from: one open file, whose metadata was read.
class ChakraSource {
 public:
  virtual ~ChakraSource() = default;
  /// Reads the next node; false at the end of the file. Throws InputError.
  virtual bool next(ChakraMessage& node) = 0;
  /// Where the latest node starts, in bytes.
  virtual std::uint64_t offset() const = 0;
  virtual bool from_pytorch() const = 0;
  /// Place of what starts at an offset, and its name within the file: "byte 8" or "line 3". A place
  /// without a line needs the name.
  virtual SourcePlace place(std::uint64_t offset) const = 0;
  virtual std::string name_of(std::uint64_t offset) const = 0;
};

struct ChakraMetadata {
  bool says_something = false;  ///< a version or an attribute
  bool from_pytorch = false;    ///< attribute "schema"
};

/// False if the bytes are no such message.
bool decode_chakra_node(std::string_view bytes, ChakraMessage& node);
bool decode_chakra_metadata(std::string_view bytes, ChakraMetadata& metadata);

}  // namespace weft
