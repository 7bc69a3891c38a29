// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/external_times.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"

namespace weft {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* version_key = "weft_operator_times";

std::string_view protocol_name(OperatorPass pass) {
  switch (pass) {
    case OperatorPass::forward:
      return "forward";
    case OperatorPass::backward_input:
      return "backward_input";
    case OperatorPass::backward_weight:
      return "backward_weight";
    case OperatorPass::backward:
      break;
  }
  return "backward";
}

/// Adds what operator it is and its sizes.
struct ShapeQuestion {
  Json& json;

  void operator()(const Matmul& shape) const {
    json.update({{"operator", "matmul"},
                 {"rows", shape.rows},
                 {"columns", shape.columns},
                 {"inner", shape.inner},
                 {"groups", shape.groups}});
  }
  void operator()(const GroupedMatmul& shape) const {
    json.update({{"operator", "grouped_matmul"},
                 {"rows", shape.rows},
                 {"rows_most", shape.rows_most},
                 {"columns", shape.columns},
                 {"inner", shape.inner},
                 {"groups", shape.groups}});
  }
  void operator()(const FusedAttention& shape) const {
    json.update({{"operator", "fused_attention"},
                 {"batch", shape.batch},
                 {"query_heads", shape.query_heads},
                 {"key_value_heads", shape.key_value_heads},
                 {"query_length", shape.query_length},
                 {"key_length", shape.key_length},
                 {"key_width", shape.key_width},
                 {"value_width", shape.value_width},
                 {"is_causal", shape.is_causal}});
  }
  void operator()(const RowWise& shape) const {
    json.update({{"operator", "row_wise"}, {"what", to_text(shape.what)}, {"rows", shape.rows}, {"width", shape.width}});
  }
  void operator()(const EmbeddingLookup& shape) const {
    json.update({{"operator", "embedding_lookup"},
                 {"rows", shape.rows},
                 {"width", shape.width},
                 {"table_rows", shape.table_rows},
                 {"pooled", shape.pooled},
                 {"is_updated_in_place", shape.is_updated_in_place}});
  }
  void operator()(const Convolution& shape) const {
    json.update({{"operator", "convolution"},
                 {"batch", shape.batch},
                 {"input_channels", shape.input_channels},
                 {"output_channels", shape.output_channels},
                 {"output_height", shape.output_height},
                 {"output_width", shape.output_width},
                 {"kernel", shape.kernel},
                 {"stride", shape.stride}});
  }
  void operator()(const OptimizerStep& shape) const {
    json.update({{"operator", "optimizer_step"}, {"parameters", shape.parameters}});
  }
};

Json question_of(const Operator& op, OperatorPass pass) {
  Json json = {{"pass", protocol_name(pass)}, {"type", op.type.name}};
  std::visit(ShapeQuestion{json}, op.shape);
  json["name"] = op.name;
  return json;
}

std::string line_of(const Json& json) { return printed_json(json, -1); }

/// Ends the conversation: what was asked and what came back stand in the message.
[[noreturn]] void fail_answer(LineProcess& process, const std::string& code, const std::string& what, const std::string& asked,
                              const std::string& answer) {
  process.stop();
  fail(code, fmt::format("{}: asked {}, got {}", what, in_quotes(asked), in_quotes(answer)), SourcePlace::named(process.name()),
       code == "external-bad-answer" ? R"(answer by one line such as {"id": 1, "time_us": 812.5})" : "");
}

/// None unless a line is one JSON object.
std::optional<Json> object_in(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

}  // namespace

ExternalTimes::ExternalTimes(std::vector<std::string> command, std::chrono::milliseconds timeout)
    : process_(std::move(command), timeout) {
  const std::string greeting = line_of(Json{{version_key, protocol_version}});
  const std::string answer = process_.ask(greeting);
  const std::optional<Json> json = object_in(answer);
  if (!json || !json->contains(version_key) || !(*json)[version_key].is_number_integer()) {
    fail_answer(process_, "external-version", "the program does not say which version it speaks", greeting, answer);
  }
  if ((*json)[version_key] != protocol_version) {
    fail_answer(process_, "external-version", fmt::format("the program speaks another version than {}", protocol_version), greeting,
                answer);
  }
  if (json->contains("name") && (*json)["name"].is_string()) chip_ = (*json)["name"].get<std::string>();
  if (chip_.empty()) fail_answer(process_, "external-version", "the program does not say its name", greeting, answer);
}

std::optional<Duration> ExternalTimes::time_of(const Operator& op, OperatorPass pass) const {
  Json question = question_of(op, pass);
  const std::string key = line_of(question);
  const std::lock_guard lock(asking_);
  if (const auto known = answers_.find(key); known != answers_.end()) return known->second;
  const std::uint64_t id = answers_.size() + 1;
  Json numbered = {{"id", id}};
  numbered.update(question);
  const std::string asked = line_of(numbered);
  const std::string answer = process_.ask(asked);
  const auto refuse = [&](const std::string& what) { fail_answer(process_, "external-bad-answer", what, asked, answer); };

  const std::optional<Json> json = object_in(answer);
  if (!json) refuse("the answer is no JSON object");
  if (!json->contains("id") || (*json)["id"] != id) refuse("the answer is to another question");
  if (json->contains("error")) fail_answer(process_, "external-error", "the program gives up", asked, answer);
  if (!json->contains("time_us")) refuse("the answer has no time_us");
  const Json& time = (*json)["time_us"];
  std::optional<Duration> result;
  if (!time.is_null()) {
    if (!time.is_number()) refuse("time_us is neither a number nor null");
    const double us = time.get<double>();
    if (!(us >= 0 && us <= one_year.in_us())) refuse("time_us is not between 0 and a year");
    result = Duration::from_us(us);
  }
  answers_.emplace(key, result);
  return result;
}

std::string ExternalTimes::origin() const { return fmt::format("external: {}", chip_); }

std::uint64_t ExternalTimes::asked() const {
  const std::lock_guard lock(asking_);
  return answers_.size();
}

}  // namespace weft
