// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/chakra/chakra_message.hpp"

#include <cstring>
#include <utility>

namespace weft {

namespace {

enum WireType : std::uint32_t { varint_wire = 0, fixed64_wire = 1, bytes_wire = 2, fixed32_wire = 5 };

/// Goes through the fields of one message.
class Fields {
 public:
  explicit Fields(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  /// False at the end and at damage.
  bool next() {
    if (at_ == end_) return false;
    std::uint64_t key = 0;
    if (!take_varint(key) || key > UINT32_MAX || key >> 3 == 0) return damaged();
    number = static_cast<std::uint32_t>(key >> 3);
    wire = static_cast<std::uint32_t>(key & 7);
    switch (wire) {
      case varint_wire:
        return take_varint(value) || damaged();
      case fixed64_wire:
        return take_fixed(8) || damaged();
      case fixed32_wire:
        return take_fixed(4) || damaged();
      case bytes_wire: {
        std::uint64_t length = 0;
        if (!take_varint(length) || length > static_cast<std::uint64_t>(end_ - at_)) return damaged();
        bytes = std::string_view(at_, static_cast<std::size_t>(length));
        at_ += length;
        return true;
      }
      default:
        return damaged();
    }
  }
  bool is_intact() const { return intact_; }
  bool is(std::uint32_t field, std::uint32_t wire_type) const { return number == field && wire == wire_type; }

  /// A varint at the front of what is left; for packed numbers.
  bool take_varint(std::uint64_t& result) {
    result = 0;
    for (unsigned shift = 0; shift < 64 && at_ < end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      result |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool at_end() const { return at_ == end_; }

  std::uint32_t number = 0;
  std::uint32_t wire = 0;
  std::uint64_t value = 0;  ///< of varints and fixed numbers
  std::string_view bytes;

 private:
  bool damaged() {
    intact_ = false;
    return false;
  }
  bool take_fixed(std::size_t length) {
    if (static_cast<std::size_t>(end_ - at_) < length) return false;
    value = 0;
    for (std::size_t i = 0; i < length; ++i) value |= std::uint64_t{static_cast<unsigned char>(at_[i])} << (8 * i);
    at_ += length;
    return true;
  }

  const char* at_;
  const char* end_;
  bool intact_ = true;
};

ChakraNumber of_signed(std::int64_t value) {
  return {value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value), value < 0};
}
std::int64_t zigzag(std::uint64_t value) { return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1); }
std::int64_t signed32(std::uint64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

/// { repeated bool values = 1 }, one byte per value.
bool lists_false(std::string_view list) {
  return list.size() > 2 && list[0] == '\x0A' && std::memchr(list.data() + 2, '\0', list.size() - 2) != nullptr;
}

bool decode_attribute(std::string_view bytes, std::string_view& name, ChakraValue& value) {
  Fields fields(bytes);
  while (fields.next()) {
    const auto is_varint = fields.wire == varint_wire;
    // Of a oneof the last one given counts; 3 and 5 are floating point, which no attribute that
    // Weft reads has.
    switch (fields.number) {
      case 1:
        if (fields.wire == bytes_wire) name = fields.bytes;
        break;
      case 3:
        if (fields.wire == fixed64_wire) value = {};
        break;
      case 5:
        if (fields.wire == fixed32_wire) value = {};
        break;
      case 7:
        if (is_varint) value = {of_signed(signed32(fields.value)), {}, false, false};
        break;
      case 9:
        if (is_varint) value = {of_signed(static_cast<std::int64_t>(fields.value)), {}, false, false};
        break;
      case 11:
        if (is_varint) value = {ChakraNumber{static_cast<std::uint32_t>(fields.value), false}, {}, false, false};
        break;
      case 13:
        if (is_varint) value = {ChakraNumber{fields.value, false}, {}, false, false};
        break;
      case 15:
        if (is_varint)
          value = {
              of_signed(signed32(static_cast<std::uint64_t>(zigzag(static_cast<std::uint32_t>(fields.value))))), {}, false, false};
        break;
      case 17:
        if (is_varint) value = {of_signed(zigzag(fields.value)), {}, false, false};
        break;
      case 19:
        if (fields.wire == fixed32_wire) value = {ChakraNumber{fields.value, false}, {}, false, false};
        break;
      case 21:
        if (fields.wire == fixed64_wire) value = {ChakraNumber{fields.value, false}, {}, false, false};
        break;
      case 23:
        if (fields.wire == fixed32_wire) value = {of_signed(signed32(fields.value)), {}, false, false};
        break;
      case 25:
        if (fields.wire == fixed64_wire) value = {of_signed(static_cast<std::int64_t>(fields.value)), {}, false, false};
        break;
      case 27:
        if (is_varint) value = {{}, {}, fields.value != 0, false};
        break;
      case 28:
        if (fields.wire == bytes_wire) value.lists_false = lists_false(fields.bytes);
        break;
      case 29:
        if (fields.wire == bytes_wire) value = {{}, fields.bytes, false, false};
        break;
      case 31:
        if (fields.wire == bytes_wire) value = {};
        break;
      default:
        break;
    }
  }
  return fields.is_intact();
}

/// One number, or several packed into bytes.
bool take_numbers(const Fields& field, std::vector<std::uint64_t>& numbers) {
  if (field.wire == varint_wire) numbers.push_back(field.value);
  if (field.wire != bytes_wire) return true;
  Fields packed(field.bytes);
  while (!packed.at_end()) {
    std::uint64_t number = 0;
    if (!packed.take_varint(number)) return false;
    numbers.push_back(number);
  }
  return true;
}

/// The values of an IOInfo.
bool take_values(std::string_view bytes, std::string_view& values) {
  Fields fields(bytes);
  while (fields.next()) {
    if (fields.is(1, bytes_wire)) values = fields.bytes;
  }
  return fields.is_intact();
}

}  // namespace

void ChakraMessage::set_attribute(std::string_view attribute, const ChakraValue& value) {
  const std::optional<ChakraNumber>& number = value.number;
  const bool is_nonzero = number && number->magnitude != 0;
  if (attribute == "is_cpu_op") {
    is_cpu_op = value.is_true || is_nonzero;
  } else if (attribute == "rf_id") {
    is_pytorch = true;
  } else if (attribute == "num_ops") {
    has_num_ops = is_nonzero;
  } else if (attribute == "tensor_size") {
    has_tensor_size = is_nonzero;
  } else if (attribute == "comm_type") {
    comm_type = number;
  } else if (attribute == "comm_size") {
    comm_size = number;
  } else if (attribute == "comm_src") {
    comm_source = number;
  } else if (attribute == "comm_dst") {
    comm_destination = number;
  } else if (attribute == "comm_tag") {
    comm_tag = number;
  } else if (attribute == "comm_priority") {
    comm_priority = number;
  } else if (attribute == "stream") {
    stream = number;
  } else if (attribute == "tid") {
    thread = number;
  } else if (attribute == "pg_name") {
    if (value.text) group_text = *value.text;
    if (value.text || number) group_number = number;
  } else if (attribute == "involved_dim") {
    partial_dimensions = value.lists_false;
  }
}

void ChakraMessage::clear() {
  std::vector<std::uint64_t> control = std::move(control_dependencies);
  std::vector<std::uint64_t> data = std::move(data_dependencies);
  *this = ChakraMessage();
  control.clear();
  data.clear();
  control_dependencies = std::move(control);
  data_dependencies = std::move(data);
}

bool decode_chakra_node(std::string_view bytes, ChakraMessage& node) {
  node.clear();
  Fields fields(bytes);
  while (fields.next()) {
    switch (fields.number) {
      case 1:
        if (fields.wire == varint_wire) node.id = fields.value;
        break;
      case 2:
        if (fields.wire == bytes_wire) node.name = fields.bytes;
        break;
      case 3:
        if (fields.wire == varint_wire) node.type = static_cast<std::uint32_t>(fields.value);
        break;
      case 4:
        if (!take_numbers(fields, node.control_dependencies)) return false;
        break;
      case 5:
        if (!take_numbers(fields, node.data_dependencies)) return false;
        break;
      case 6:
        if (fields.wire == varint_wire) node.start_us = fields.value;
        break;
      case 7:
        if (fields.wire == varint_wire) node.duration_us = fields.value;
        break;
      case 8:
        if (fields.wire == bytes_wire && !take_values(fields.bytes, node.inputs)) return false;
        break;
      case 9:
        if (fields.wire == bytes_wire && !take_values(fields.bytes, node.outputs)) return false;
        break;
      case 10: {
        if (fields.wire != bytes_wire) break;
        std::string_view name;
        ChakraValue value;
        if (!decode_attribute(fields.bytes, name, value)) return false;
        node.set_attribute(name, value);
        break;
      }
      default:
        break;
    }
  }
  return fields.is_intact();
}

bool decode_chakra_metadata(std::string_view bytes, ChakraMetadata& metadata) {
  Fields fields(bytes);
  while (fields.next()) {
    if (fields.is(1, bytes_wire) && !fields.bytes.empty()) metadata.says_something = true;
    if (!fields.is(2, bytes_wire)) continue;
    metadata.says_something = true;
    std::string_view name;
    ChakraValue value;
    if (!decode_attribute(fields.bytes, name, value)) return false;
    metadata.from_pytorch = metadata.from_pytorch || name == "schema";
  }
  return fields.is_intact();
}

}  // namespace weft
