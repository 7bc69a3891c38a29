// SPDX-License-Identifier: Apache-2.0
#include "workloads/measurements/virtual_clusters.hpp"

#include <array>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

enum Column : std::size_t { name, num };
constexpr std::array columns = {CsvColumn{""}, CsvColumn{"num"}};

}  // namespace

std::map<std::string, std::uint32_t> read_virtual_clusters(const SourceText& source) {
  Diagnostics diagnostics;
  CsvReader rows(source, columns, OtherColumns::refused, diagnostics);
  std::map<std::string, std::uint32_t> nodes;
  while (rows.next()) {
    const auto count = rows.whole_number(num, 0, workload_rank_count_max);
    if (!count) continue;
    if (!nodes.emplace(rows.field(name), static_cast<std::uint32_t>(*count)).second) {
      rows.fault(name, "duplicate-cluster", fmt::format("virtual cluster \"{}\" stands in the table twice", rows.field(name)),
                 "names are unique");
    }
  }
  if (nodes.empty() && !diagnostics.has_errors()) {
    diagnostics.error("no-rows", "the table has no virtual clusters", source.whole_file(), "add a row for each below the header");
  }
  diagnostics.throw_if_errors();
  return nodes;
}

std::string describe_virtual_clusters(const SourceText& source) {
  const std::map<std::string, std::uint32_t> nodes = read_virtual_clusters(source);
  std::uint64_t sum = 0;
  std::string list;
  for (const auto& [name, count] : nodes) {
    sum += count;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name, count);
  }
  return fmt::format("{} virtual clusters, {} nodes: {}\n", nodes.size(), sum, list);
}

}  // namespace weft
