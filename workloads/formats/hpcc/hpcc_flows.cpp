// SPDX-License-Identifier: Apache-2.0
#include "workloads/formats/hpcc/hpcc_flows.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/out_of_memory.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

constexpr std::size_t field_count = 6;
/// Priority groups of a port, qCnt in the simulators.
constexpr std::uint64_t priority_groups = 8;
constexpr const char* format_help = "write: source destination priority destination_port bytes start_seconds";

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

void split_words(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  for (auto at = line.begin(); at != line.end();) {
    const auto begin = std::find_if_not(at, line.end(), is_blank);
    at = std::find_if(begin, line.end(), is_blank);
    if (begin != at) words.emplace_back(begin, at);
  }
}

/// A character that a decimal number may have.
constexpr bool is_of_number(char c) { return (c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'; }

class FlowReader {
 public:
  explicit FlowReader(const SourceText& source) : source_(source) { source.require_utf8_text("flow list"); }

  FlowList read() {
    FlowList list;
    const std::string& path = source_.name();
    list.name = path.substr(path.rfind('/') + 1);
    std::optional<std::uint64_t> announced;
    std::uint64_t seen = 0;
    std::vector<std::string_view> fields;
    for (std::size_t number = 1; number <= source_.line_count(); ++number) {
      line_ = static_cast<int>(number);
      split_words(source_.line(number), fields);
      if (fields.empty()) continue;
      if (!announced) {
        if (fields.size() != 1) {
          diagnostics_.error("bad-count", "the first line is not the number of flows", source_.at(line_, 0),
                             "write how many flows follow");
          diagnostics_.throw_if_errors();
        }
        announced = number_of(fields[0], "the number of flows", flow_list_size_max);
        diagnostics_.throw_if_errors();
        // The file's own size bounds what is reserved, whatever it announces.
        list.flows.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*announced, source_.line_count())));
        continue;
      }
      ++seen;
      read_flow(fields, list);
    }
    if (announced && seen != *announced) {
      diagnostics_.error(
          "count-mismatch",
          fmt::format("{} announced, {} listed", counted(*announced, "flow is", "flows are"), counted(seen, "is", "are")),
          source_.at(1, 0), seen < *announced ? "was the file cut off?" : "correct the number in the first line");
    }
    diagnostics_.throw_if_errors();
    return list;
  }

 private:
  SourcePlace place(std::string_view field) const {
    const auto offset = static_cast<int>(field.data() - source_.line(static_cast<std::size_t>(line_)).data());
    return source_.at(line_, offset + 1, static_cast<int>(field.size()));
  }

  std::optional<std::uint64_t> number_of(std::string_view field, const char* what, std::uint64_t maximum) {
    const auto value = plain_number<std::uint64_t>(field);
    if (!value && !is_digits(field)) {
      diagnostics_.error("bad-value", fmt::format("{} is no whole number: \"{}\"", what, field), place(field), format_help);
      return std::nullopt;
    }
    if (!value || *value > maximum) {
      diagnostics_.error("out-of-range", fmt::format("{} is {}", what, field), place(field), fmt::format("at most {}", maximum));
      return std::nullopt;
    }
    return value;
  }

  std::optional<Duration> seconds_of(std::string_view field) {
    const bool plain = std::all_of(field.begin(), field.end(), is_of_number);
    const auto parsed = plain ? parse_duration(std::string(field) + "s") : ParsedQuantity<Duration>{};
    if (plain && field.front() == '-') {
      diagnostics_.error("negative-duration", "the start of this flow is negative", place(field), "flows start at 0 or later");
      return std::nullopt;
    }
    if (!parsed.value) {
      diagnostics_.error("bad-value", fmt::format("the start is no number of seconds: \"{}\"", field), place(field), format_help);
      return std::nullopt;
    }
    if (*parsed.value > op_duration_max) {
      diagnostics_.error("out-of-range", "this flow starts after more than a year", place(field),
                         fmt::format("at most {}", to_text(op_duration_max)));
      return std::nullopt;
    }
    return parsed.value;
  }

  void read_flow(const std::vector<std::string_view>& fields, FlowList& list) {
    if (fields.size() != field_count) {
      diagnostics_.error("wrong-field-count",
                         fmt::format("this flow has {}, 6 are needed", counted(fields.size(), "field", "fields")),
                         source_.at(line_, 0), format_help);
      return;
    }
    const auto source = number_of(fields[0], "the source", UINT32_MAX - 1);
    const auto destination = number_of(fields[1], "the destination", UINT32_MAX - 1);
    const auto priority = number_of(fields[2], "the priority", priority_groups - 1);
    const auto port = number_of(fields[3], "the destination port", UINT16_MAX);
    const auto bytes = number_of(fields[4], "the size", static_cast<std::uint64_t>(op_size_max.count()));
    const auto start = seconds_of(fields[5]);
    if (!source || !destination || !priority || !port || !bytes || !start) return;
    if (*source == *destination) {
      diagnostics_.error("self-flow", fmt::format("this flow goes from node {} to itself", *source), place(fields[1]),
                         "name another destination, or remove the flow");
      return;
    }
    ListedFlow flow;
    flow.source = static_cast<std::uint32_t>(*source);
    flow.destination = static_cast<std::uint32_t>(*destination);
    flow.priority = *priority == 0 ? 1 : 0;
    flow.destination_port = static_cast<std::uint32_t>(*port);
    flow.size = Bytes::of(static_cast<std::int64_t>(*bytes));
    flow.start = *start;
    flow.line = line_;
    list.flows.push_back(flow);
  }

  const SourceText& source_;
  Diagnostics diagnostics_;
  int line_ = 0;
};

}  // namespace

FlowList import_hpcc_flows(const SourceText& source) { return FlowReader(source).read(); }

FlowList import_hpcc_flows(const std::string& path) {
  return naming_memory_use(fmt::format("while reading {}", path), [&] { return import_hpcc_flows(SourceText::read(path)); });
}

}  // namespace weft
