// SPDX-License-Identifier: Apache-2.0
#include "published_collectives.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "scenario_run.hpp"

namespace weft {

namespace {

std::string topology_text(const PublishedCollectives& set) {
  const auto setting = [](const std::string& name, const std::string& value) {
    return " set { name: \"" + name + "\" value: \"" + value + "\" }";
  };
  std::string text = set.hosts == 1 ? "builder: \"lone_server\"" : "builder: \"rail_optimized\"";
  text += setting("server", set.machine) + setting("gpus_per_host", std::to_string(set.gpus_per_host));
  if (set.hosts == 1) return text;
  return text + setting("hosts", std::to_string(set.hosts)) + setting("nics_per_host", std::to_string(set.nics_per_host)) +
         setting("nic_rate", std::to_string(set.nic_gbps) + "Gbps");
}

}  // namespace

std::vector<PublishedCollectives> published_collectives() {
  std::vector<PublishedCollectives> sets;
  for (const auto& row : read_table(std::filesystem::path(WEFT_SOURCE_DIR) / "tests/validation/published_collectives.csv")) {
    const auto number = [&row](const char* column) { return static_cast<unsigned>(std::stoul(row.at(column))); };
    PublishedCollectives set{row.at("source"),        row.at("machine"),  number("hosts"),      number("gpus_per_host"),
                             number("nics_per_host"), number("nic_gbps"), row.at("collective"), {}};
    const auto same = [&set](const PublishedCollectives& other) {
      return other.source == set.source && other.machine == set.machine && other.hosts == set.hosts &&
             other.gpus_per_host == set.gpus_per_host && other.collective == set.collective;
    };
    if (sets.empty() || !same(sets.back())) sets.push_back(std::move(set));
    sets.back().times.push_back({std::stod(row.at("size_bytes")), std::stod(row.at("time_us")), 0, row.at("fitted") == "no"});
  }
  return sets;
}

std::vector<CollectiveTime> simulate(const PublishedCollectives& set) {
  std::vector<CollectiveTime> times = set.times;
  simulate(set.collective, topology_text(set), set.hosts * set.gpus_per_host, times);
  return times;
}

std::string published_collectives_table() {
  std::string table =
      "| source | machine | hosts x GPUs | collective | 64 KiB to 16 MiB | median error | worst | from 16 MiB on | median error | "
      "worst |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  std::vector<CollectiveTime> all;
  for (const PublishedCollectives& set : published_collectives()) {
    std::vector<CollectiveTime> times = simulate(set);
    all.insert(all.end(), times.begin(), times.end());
    const auto held = std::count_if(times.begin(), times.end(), [](const CollectiveTime& time) { return time.held_out; });
    const auto fits = std::ssize(times) - held;
    const std::string fitted = held == 0 ? " (fitted)" : fits > 0 ? fmt::format(" ({} of {} fitted)", fits, times.size()) : "";
    for (CollectiveTime& time : times) time.held_out = true;
    table += fmt::format("| {}{} | {} | {} x {} | {} | {} | {} |\n", set.source, fitted, set.machine, set.hosts, set.gpus_per_host,
                         set.collective, error_cells(held_out(times, SizeClass::medium)),
                         error_cells(held_out(times, SizeClass::large)));
  }
  table += "| all that nothing was fitted to | | | | " + error_cells(held_out(all, SizeClass::medium)) + " | " +
           error_cells(held_out(all, SizeClass::large)) + " |\n";
  return table;
}

}  // namespace weft
