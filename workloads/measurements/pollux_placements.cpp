// SPDX-License-Identifier: Apache-2.0
#include "workloads/measurements/pollux_placements.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "workloads/dag/limits.hpp"

namespace weft {

namespace {

enum Column : std::size_t { placement, local_bsz, step_time, sync_time };
constexpr std::array columns = {CsvColumn{"placement"}, CsvColumn{"local_bsz"}, CsvColumn{"step_time"}, CsvColumn{"sync_time"}};

/// The GPUs per host of "44"; empty, and a fault reported, if it is something else.
std::vector<std::uint32_t> hosts_of(CsvReader& rows) {
  std::vector<std::uint32_t> gpus;
  for (const char digit : rows.field(placement)) {
    if (digit < '1' || digit > '9') {
      gpus.clear();
      break;
    }
    gpus.push_back(static_cast<std::uint32_t>(digit - '0'));
  }
  if (gpus.empty()) {
    rows.fault(placement, "bad-value", fmt::format("this is no placement: \"{}\"", rows.field(placement)),
               "write a digit from 1 to 9 per host, its number of GPUs, like 44");
  }
  return gpus;
}

}  // namespace

PolluxPlacements PolluxPlacements::read(const SourceText& source) {
  Diagnostics diagnostics;
  CsvReader rows(source, columns, OtherColumns::allowed, diagnostics);
  PolluxPlacements table;
  while (rows.next()) {
    const std::vector<std::uint32_t> gpus = hosts_of(rows);
    const auto batch = rows.whole_number(local_bsz, 1, UINT32_MAX);
    const auto step = rows.duration(step_time, "s");
    const auto sync = rows.duration(sync_time, "s");
    if (gpus.empty() || !batch || !step || !sync) continue;
    if (*sync > *step) {
      rows.fault(sync_time, "out-of-range", "synchronisation takes longer than the step", "at most the step_time");
      continue;
    }
    table.times_[static_cast<std::uint32_t>(*batch)].add(gpus, *step);
    Totals& totals = table.by_hosts_[static_cast<std::uint32_t>(gpus.size())];
    ++totals.rows;
    totals.step_s += step->in_s();
    totals.sync_s += sync->in_s();
  }
  if (table.times_.empty() && !diagnostics.has_errors()) {
    diagnostics.error("no-rows", "the table has no measurements", source.whole_file(), "add a row for each below the header");
  }
  diagnostics.throw_if_errors();
  return table;
}

std::vector<std::uint32_t> PolluxPlacements::batch_sizes() const {
  std::vector<std::uint32_t> sizes;
  for (const auto& [size, times] : times_) sizes.push_back(size);
  return sizes;
}

std::string PolluxPlacements::to_text() const {
  std::string text = "local batch sizes";
  for (const auto& [size, times] : times_) text += fmt::format(" {}", size);
  text += fmt::format(", {} placements of", times_.begin()->second.placement_count());
  for (const std::uint32_t gpus : times_.begin()->second.gpu_counts()) text += fmt::format(" {}", gpus);
  text += " GPUs\n";
  for (const auto& [hosts, totals] : by_hosts_) {
    std::array<char, 160> line{};
    const auto count = static_cast<double>(totals.rows);
    std::snprintf(line.data(), line.size(), "on %u host%s: %llu measurements, mean step %.6g s, of which %.6g s synchronisation\n",
                  hosts, hosts == 1 ? "" : "s", static_cast<unsigned long long>(totals.rows), totals.step_s / count,
                  totals.sync_s / count);
    text += line.data();
  }
  return text;
}

}  // namespace weft
