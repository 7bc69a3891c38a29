// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/chakra/chakra_json.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"
#include "core/text/source_text.hpp"

namespace weft {

namespace {

using Json = simdjson::dom::element;

/// camelCase and snake_case alike: "dataDeps" and "data_deps" become "datadeps".
std::string plain_key(std::string_view key) {
  std::string plain;
  for (const char c : key) {
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

class JsonSource final : public ChakraSource {
 public:
  explicit JsonSource(const std::string& path) : source_(SourceText::read(path)) {
    source_.require_utf8_text("Chakra trace in JSON form");
    at_ = skip_blanks(0);
    if (text()[at_] != '{') {
      fail("not-json", "a Chakra trace in JSON form begins with an object", at_,
           "is this the binary form? Its files are named PREFIX.RANK.et");
    }
    open();
  }

  bool next(ChakraMessage& node) override {
    node.clear();
    if (!find_next()) return false;
    const std::size_t end = end_of_value(offset_);
    if (is_graph_) {
      read_graph_node(parse(offset_, end), node);
    } else {
      read_node(parse(offset_, end), node);
    }
    at_ = end;
    return true;
  }
  std::uint64_t offset() const override { return offset_; }
  bool from_pytorch() const override { return from_pytorch_; }
  SourcePlace place(std::uint64_t offset) const override { return source_.at_offset(static_cast<std::size_t>(offset)); }
  std::string name_of(std::uint64_t offset) const override { return fmt::format("line {}", place(offset).line); }

 private:
  [[noreturn]] void fail(std::string code, std::string message, std::size_t offset, std::string help) const {
    weft::fail(std::move(code), std::move(message), place(std::min(offset, text().size() - 1)), std::move(help));
  }
  std::string_view text() const { return source_.text(); }

  // --- Finding the objects in the text ---
  std::size_t skip_blanks(std::size_t at) const { return std::min(text().find_first_not_of(" \t\r\n", at), text().size()); }

  /// The end of the text that begins with the quotes at `at`.
  std::size_t end_of_text(std::size_t at) const {
    std::size_t end = at + 1;
    while (end < text().size() && text()[end] != '"') end += text()[end] == '\\' ? 2 : 1;
    if (end >= text().size()) truncated(at, "text");
    return end + 1;
  }

  /// The end of the JSON value that begins at `at`.
  std::size_t end_of_value(std::size_t at) const {
    const char first = at < text().size() ? text()[at] : '\0';
    if (first == '"') return end_of_text(at);
    if (first != '{' && first != '[') return std::min(text().find_first_of(",]} \t\r\n", at), text().size());
    std::size_t depth = 0;
    for (std::size_t i = at; i < text().size();) {
      const char c = text()[i];
      if (c == '"') {
        i = end_of_text(i);
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return i + 1;
      ++i;
    }
    truncated(at, first == '{' ? "object" : "list");
  }

  [[noreturn]] void truncated(std::size_t at, const std::string& what) const {
    fail("truncated-file", fmt::format("the file ends inside the {} that starts here", what), at, "it was cut off; fetch it again");
  }

  /// Reads the metadata and stops before the first node.
  void open() {
    if (open_list()) return;
    const std::size_t end = end_of_value(at_);
    read_metadata(parse(at_, end), at_);
    at_ = end;
  }

  /// What PyTorch's ExecutionTraceObserver and chakra_trace_link write names its nodes like Chakra,
  /// but has neither types nor times.
  [[noreturn]] void refuse_pytorch(std::size_t at) const {
    fail("not-chakra", "this is an execution trace of PyTorch (ExecutionTraceObserver), not yet a Chakra trace", at,
         "join it with the Kineto trace of the same run (chakra_trace_link) and convert the result (chakra_converter PyTorch), or "
         "read the Kineto trace itself in format kineto");
  }

  /// Looks for a list of nodes among the keys of the first object.
  bool open_list() {
    std::size_t at = skip_blanks(at_ + 1);
    while (at < text().size() && text()[at] == '"') {
      const std::size_t key_at = at;
      const std::size_t key_end = end_of_text(at);
      const std::string key = plain_key(text().substr(at + 1, key_end - at - 2));
      at = skip_blanks(key_end);
      if (at >= text().size() || text()[at] != ':') return false;
      at = skip_blanks(at + 1);
      if (key == "schema" && at < text().size() && text()[at] == '"') refuse_pytorch(key_at);
      is_graph_ = key == "workloadgraph";
      if ((key == "nodes" || key == "node" || is_graph_) && at < text().size() && text()[at] == '[') {
        list_begin_ = at;
        at_ = at + 1;
        return true;
      }
      const std::size_t end = end_of_value(at);
      if ((key == "globalmetadata" || key == "metadata") && text()[at] == '{') read_metadata(parse(at, end), at);
      at = skip_blanks(end);
      if (at >= text().size() || text()[at] != ',') return false;
      at = skip_blanks(at + 1);
    }
    return false;
  }

  /// Sets offset_ to the next node.
  bool find_next() {
    at_ = skip_blanks(at_);
    const bool in_list = list_begin_ > 0;
    if (at_ == text().size()) {
      if (in_list) truncated(list_begin_, "list");
      return false;
    }
    if (in_list) {
      if (text()[at_] == ']') return false;
      if (!is_first_) {
        if (text()[at_] != ',') fail("not-json", "there is no comma between two nodes", at_, "the file is damaged; fetch it again");
        at_ = skip_blanks(at_ + 1);
      }
    }
    is_first_ = false;
    if (at_ >= text().size() || text()[at_] != '{')
      fail("not-json", "a node is expected here, an object", at_, "the file is damaged; fetch it again");
    offset_ = at_;
    return true;
  }

  Json parse(std::size_t begin, std::size_t end) {
    Json value;
    if (const simdjson::error_code error = parser_.parse(text().data() + begin, end - begin, true).get(value);
        error != simdjson::SUCCESS) {
      fail("not-json", fmt::format("the object that starts here is no JSON: {}", simdjson::error_message(error)), begin,
           "the file is damaged; fetch it again");
    }
    return value;
  }

  // --- Reading objects ---
  template <std::size_t N>
  [[noreturn]] void unknown_field(std::string_view key, const std::array<std::string, N>& known, const char* owner) const {
    const std::size_t at = text().find(in_quotes(key), offset_);
    fail("unknown-field", fmt::format("{} has no field {}", owner, in_quotes(key.substr(0, 60))), at < text().size() ? at : offset_,
         suggestion(key, known, "field"));
  }
  [[noreturn]] void bad_value(std::string_view key, const char* wanted) const {
    fail("bad-value", fmt::format("the value of {} is no {}", in_quotes(key), wanted), offset_,
         "the file is damaged; write it with chakra_jsonizer");
  }

  ChakraNumber number_of(std::string_view key, const Json& value) const {
    if (std::uint64_t number = 0; value.get(number) == simdjson::SUCCESS) return {number, false};
    if (std::int64_t number = 0; value.get(number) == simdjson::SUCCESS) return {0 - static_cast<std::uint64_t>(number), true};
    std::string_view digits;
    if (value.get(digits) != simdjson::SUCCESS) bad_value(key, "whole number");
    ChakraNumber number;
    number.negative = !digits.empty() && digits.front() == '-';
    if (number.negative) digits.remove_prefix(1);
    const auto magnitude = plain_number<std::uint64_t>(digits);
    if (!magnitude) bad_value(key, "whole number");
    number.magnitude = *magnitude;
    return number;
  }
  std::uint64_t unsigned_of(std::string_view key, const Json& value) const {
    const ChakraNumber number = number_of(key, value);
    if (number.negative && number.magnitude != 0) bad_value(key, "number of 0 or more");
    return number.magnitude;
  }
  std::string_view text_of(std::string_view key, const Json& value) const {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) bad_value(key, "text");
    return text;
  }
  simdjson::dom::array list_of(std::string_view key, const Json& value) const {
    simdjson::dom::array list;
    if (value.get(list) != simdjson::SUCCESS) bad_value(key, "list");
    return list;
  }
  simdjson::dom::object object_of(std::string_view key, const Json& value) const {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) bad_value(key, "object");
    return object;
  }

  void read_metadata(const Json& value, std::size_t offset) {
    offset_ = offset;
    for (const auto& [key, field] : object_of("metadata", value)) {
      const std::string plain = plain_key(key);
      if (plain == "version") continue;
      if (plain != "attr") {
        // A trace whose first object is a node has lost its metadata.
        fail("not-chakra",
             fmt::format("the first object has a field {}, which Chakra metadata does not have", in_quotes(key.substr(0, 60))),
             offset, "a trace begins with its metadata, like {\"version\": \"0.0.4\"}");
      }
      for (const Json& attribute : list_of(key, field)) {
        std::string_view name;
        if (object_of(key, attribute)["name"].get(name) == simdjson::SUCCESS && name == "schema") from_pytorch_ = true;
      }
    }
  }

  /// A node of {"workload_graph": [...]}, the JSON of Chakra's feeder (src/feeder/JSONNode.cpp):
  /// attributes are plain keys.
  void read_graph_node(const Json& value, ChakraMessage& node) {
    static const std::map<std::string_view, std::string_view> attributes = {
        {"iscpuop", "is_cpu_op"},  {"numops", "num_ops"},     {"tensorsize", "tensor_size"},
        {"commtype", "comm_type"}, {"commsize", "comm_size"}, {"commpriority", "comm_priority"},
        {"commsrc", "comm_src"},   {"commdst", "comm_dst"},   {"commtag", "comm_tag"}};
    for (const auto& [key, field] : object_of("node", value)) {
      const std::string plain = plain_key(key);
      const auto attribute = attributes.find(plain);
      if (plain == "id") {
        node.id = unsigned_of(key, field);
      } else if (plain == "name") {
        node.name = text_of(key, field);
      } else if (plain == "nodetype") {
        node.type = type_of(key, field);
      } else if (plain == "runtime") {
        node.duration_us = unsigned_of(key, field);
      } else if (plain == "datadeps") {
        for (const Json& dependency : list_of(key, field)) node.data_dependencies.push_back(unsigned_of(key, dependency));
      } else if (attribute != attributes.end()) {
        ChakraValue given;
        if (field.get(given.is_true) != simdjson::SUCCESS) given.number = number_of(key, field);
        node.set_attribute(attribute->second, given);
      } else {
        const std::array<std::string, 14> known = {
            "Id",          "Name",      "NodeType",  "runtime",       "data_deps", "is_cpu_op", "num_ops",
            "tensor_size", "comm_type", "comm_size", "comm_priority", "comm_src",  "comm_dst",  "comm_tag"};
        unknown_field(key, known, "a node of a workload graph");
      }
    }
  }

  void read_node(const Json& value, ChakraMessage& node) {
    for (const auto& [key, field] : object_of("node", value)) {
      const std::string plain = plain_key(key);
      if (plain == "id") {
        node.id = unsigned_of(key, field);
      } else if (plain == "name") {
        node.name = text_of(key, field);
      } else if (plain == "type") {
        node.type = type_of(key, field);
      } else if (plain == "ctrldeps" && field.is<std::uint64_t>()) {
        refuse_pytorch(offset_);
      } else if (plain == "ctrldeps") {
        for (const Json& dependency : list_of(key, field)) node.control_dependencies.push_back(unsigned_of(key, dependency));
      } else if (plain == "datadeps") {
        for (const Json& dependency : list_of(key, field)) node.data_dependencies.push_back(unsigned_of(key, dependency));
      } else if (plain == "starttimemicros") {
        node.start_us = unsigned_of(key, field);
      } else if (plain == "durationmicros") {
        node.duration_us = unsigned_of(key, field);
      } else if (plain == "inputs") {
        node.inputs = values_of(key, field);
      } else if (plain == "outputs") {
        node.outputs = values_of(key, field);
      } else if (plain == "attr") {
        for (const Json& attribute : list_of(key, field)) read_attribute(object_of(key, attribute), node);
      } else {
        const std::array<std::string, 10> known = {
            "id", "name", "type", "ctrlDeps", "dataDeps", "startTimeMicros", "durationMicros", "inputs", "outputs", "attr"};
        unknown_field(key, known, "a node");
      }
    }
  }

  std::uint32_t type_of(std::string_view key, const Json& value) const {
    std::string_view name;
    if (value.get(name) != simdjson::SUCCESS)
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(unsigned_of(key, value), UINT32_MAX));
    const std::array<std::string, 8> names = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                              "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      fail("unknown-node-type", fmt::format("there is no node type {}", in_quotes(name.substr(0, 60))), offset_,
           suggestion(name, names, "type"));
    }
    return static_cast<std::uint32_t>(found - names.begin());
  }

  std::string_view values_of(std::string_view key, const Json& value) const {
    std::string_view values;
    for (const auto& [name, field] : object_of(key, value)) {
      if (name == "values") values = text_of(name, field);
    }
    return values;
  }

  void read_attribute(const simdjson::dom::object& attribute, ChakraMessage& node) const {
    std::string_view name;
    ChakraValue value;
    for (const auto& [key, field] : attribute) {
      const std::string plain = plain_key(key);
      if (plain == "name") {
        name = text_of(key, field);
      } else if (plain == "boolval") {
        value = {};
        if (field.get(value.is_true) != simdjson::SUCCESS) bad_value(key, "true or false");
      } else if (plain == "stringval") {
        value = {};
        value.text = text_of(key, field);
      } else if (plain == "boollist") {
        value = {};
        value.lists_false = lists_false(key, field);
      } else if (is_integer(plain)) {
        value = {};
        value.number = number_of(key, field);
      } else if (!is_other_value(plain)) {
        const std::array<std::string, 9> known = {"name",     "docString", "int64Val",  "uint64Val", "boolVal",
                                                  "boolList", "stringVal", "doubleVal", "int32Val"};
        unknown_field(key, known, "an attribute");
      }
    }
    node.set_attribute(name, value);
  }

  bool lists_false(std::string_view key, const Json& value) const {
    Json values;
    if (object_of(key, value)["values"].get(values) != simdjson::SUCCESS) return false;
    bool found = false;
    for (const Json& entry : list_of(key, values)) {
      bool is_true = false;
      if (entry.get(is_true) != simdjson::SUCCESS) bad_value(key, "list of true and false");
      found = found || !is_true;
    }
    return found;
  }

  static bool is_integer(std::string_view key) {
    return key == "int32val" || key == "int64val" || key == "uint32val" || key == "uint64val" || key == "sint32val" ||
           key == "sint64val" || key == "fixed32val" || key == "fixed64val" || key == "sfixed32val" || key == "sfixed64val";
  }
  /// Of no attribute that Weft reads.
  static bool is_other_value(std::string_view key) {
    return key == "docstring" || key == "doubleval" || key == "floatval" || key == "bytesval" ||
           (key.size() > 4 && key.substr(key.size() - 4) == "list");
  }

  SourceText source_;
  simdjson::dom::parser parser_;
  std::size_t at_ = 0;          ///< where to go on
  std::size_t offset_ = 0;      ///< of the latest object
  std::size_t list_begin_ = 0;  ///< of the list of nodes, if there is one
  bool is_first_ = true;
  bool is_graph_ = false;  ///< the list is a "workload_graph"
  bool from_pytorch_ = false;
};

}  // namespace

std::unique_ptr<ChakraSource> open_chakra_json(const std::string& path) { return std::make_unique<JsonSource>(path); }

}  // namespace weft
