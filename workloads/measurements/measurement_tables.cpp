// SPDX-License-Identifier: Apache-2.0
#include "workloads/measurements/measurement_tables.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"
#include "workloads/measurements/cluster_summary.hpp"
#include "workloads/measurements/gavel_throughputs.hpp"
#include "workloads/measurements/pollux_placements.hpp"
#include "workloads/measurements/virtual_clusters.hpp"

namespace weft {

namespace {

constexpr std::array table_list = {
    MeasurementTable{"pollux", "Step times by placement and batch size as CSV: placement,local_bsz,step_time,sync_time in seconds.",
                     [](const SourceText& source) { return PolluxPlacements::read(source).to_text(); }},
    MeasurementTable{"gavel-throughputs", "Training steps per second by GPU type, job type and number of GPUs, as Gavel's JSON.",
                     [](const SourceText& source) { return GavelThroughputs::read(source).to_text(); }},
    MeasurementTable{"helios-summary", "Aggregates per cluster of the Helios data set as CSV.", describe_cluster_summaries},
    MeasurementTable{"acme-summary", "Aggregates per cluster of the Acme data set as CSV.", describe_cluster_summaries},
    MeasurementTable{"helios-vc", "Nodes per virtual cluster of a Helios cluster as CSV.", describe_virtual_clusters},
};

}  // namespace

std::span<const MeasurementTable> measurement_tables() { return table_list; }

std::string describe_measurements(const std::string& path, std::string_view format) {
  std::vector<std::string> names;
  for (const MeasurementTable& table : table_list) {
    if (table.name == format) return table.describe(SourceText::read(path));
    names.emplace_back(table.name);
  }
  fail("unknown-format", fmt::format("there is no format of measurements \"{}\"", format), SourcePlace::named(path),
       suggestion(format, names, "format"));
}

}  // namespace weft
