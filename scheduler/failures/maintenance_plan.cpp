// SPDX-License-Identifier: Apache-2.0
#include "scheduler/failures/maintenance_plan.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "core/text/param_rows.hpp"
#include "scheduler/failures/part.hpp"

namespace weft {
namespace {

constexpr std::array maintenance_plan_params = {
    param<&MaintenanceSettings::plan_file>({.name = "plan",
                                            .kind = ParamKind::file,
                                            .meaning = "CSV of drains, time_s,host,duration_s with hosts like host3",
                                            .origin = "none"}),
    param<&MaintenanceSettings::notice>({.name = "notice",
                                         .default_text = "0s",
                                         .minimum = "0s",
                                         .maximum = "8760h",
                                         .meaning = "for so long before its drain a host gets no new jobs",
                                         .origin = "none; hours to days let short jobs end by themselves",
                                         .unused = {{"drains = none", "there is no maintenance.plan"}}}),
    param<&MaintenanceSettings::moves_jobs>(
        {.name = "jobs",
         .default_text = "move",
         .choices = "move|wait",
         .meaning =
             "what becomes of jobs that are there when the drain begins: they write a checkpoint and start elsewhere, or the work "
             "waits for them",
         .origin = "operators who announce drains move jobs",
         .word = "move",
         .unused = {{"drains = none", "there is no maintenance.plan"}}}),
};

}  // namespace

ParamTable maintenance_params() { return maintenance_plan_params; }

std::optional<std::string> DrainBook::add(const Drain& drain, std::string said) {
  const Time end = drain.at + drain.duration;
  auto& of_host = known_[drain.host];
  const auto after = of_host.lower_bound(drain.at);
  if (after != of_host.begin() && std::prev(after)->second.end > drain.at) return std::prev(after)->second.said;
  if (after != of_host.end() && (after->first < end || after->first == drain.at)) return after->second.said;
  of_host.emplace(drain.at, Noted{end, std::move(said)});
  return std::nullopt;
}

std::vector<Drain> read_maintenance_plan(const SourceText& source, const ClusterState& cluster) {
  enum Column : std::size_t { time_s, host_name, duration_s };
  constexpr std::array columns = {CsvColumn{"time_s"}, CsvColumn{"host"}, CsvColumn{"duration_s"}};
  Diagnostics diagnostics;
  CsvReader rows(source, columns, OtherColumns::allowed, diagnostics, nullptr);
  std::vector<Drain> drains;
  DrainBook book;
  while (rows.next()) {
    const auto at = rows.duration(time_s, "s");
    const auto part = parse_part(rows.field(host_name), cluster);
    const auto duration = rows.duration(duration_s, "s");
    if (!part || part->kind != PartKind::host) {
      rows.fault(host_name, "unknown-part", fmt::format("the cluster has no host \"{}\"", rows.field(host_name)),
                 fmt::format("hosts are host0 to host{}", cluster.host_count() - 1));
      continue;
    }
    if (!at || !duration) continue;
    const Drain drain{Time::zero() + *at, HostId(part->index), *duration};
    if (const auto other = book.add(drain, fmt::format("line {}", rows.line()))) {
      rows.fault(time_s, "overlapping-drains",
                 fmt::format("{} is still drained then, or again before this drain ends, by {}", rows.field(host_name), *other),
                 "join the two, or move one");
      continue;
    }
    drains.push_back(drain);
  }
  diagnostics.throw_if_errors();
  std::stable_sort(drains.begin(), drains.end(), [](const Drain& a, const Drain& b) { return a.at < b.at; });
  return drains;
}

}  // namespace weft
