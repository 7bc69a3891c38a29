// SPDX-License-Identifier: Apache-2.0
// Rows of a run as text, so that two runs can be compared: every cell of every table.
#pragma once

#include <string>
#include <type_traits>
#include <variant>

#include "tools/results/memory_sink.hpp"
#include "tools/results/output_file.hpp"
#include "tools/results/tables.hpp"

namespace weft {

inline std::string cell_text(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::monostate>)
          return "";
        else if constexpr (std::is_same_v<Value, std::string_view>)
          return std::string(value);
        else if constexpr (std::is_same_v<Value, Duration>)
          return std::to_string(value.in_ticks()) + " ticks";
        else if constexpr (std::is_same_v<Value, double>)
          return shortest(value);
        else
          return std::to_string(value);
      },
      cell);
}

template <class Row>
std::string rows_text(const std::vector<Row>& rows) {
  std::string text = header_line<Row>() + "\n";
  for (const Row& row : rows) {
    for (const Column<Row>& column : TableOf<Row>::columns()) text += cell_text(column.cell(row)) + ",";
    text += "\n";
  }
  return text;
}

inline std::string all_rows_text(const MemorySink& sink) {
  return rows_text(sink.jobs) + rows_text(sink.cluster) + rows_text(sink.iterations) + rows_text(sink.communicators) +
         rows_text(sink.collectives) + rows_text(sink.flows) + rows_text(sink.links) + rows_text(sink.pause_storms) +
         rows_text(sink.events) + rows_text(sink.congestion) + rows_text(sink.congested_jobs) + rows_text(sink.link_samples);
}

}  // namespace weft
