// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_traces/philly.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/csv_reader.hpp"
#include "core/text/plain_number.hpp"
#include "workloads/job_traces/trace_builder.hpp"

namespace weft {

namespace {

enum Column : std::size_t { timestamp, duration, num_gpus, cluster, gpu_time };
constexpr std::array columns = {CsvColumn{"timestamp"}, CsvColumn{"duration"}, CsvColumn{"num_gpus"}, CsvColumn{"cluster", false},
                                CsvColumn{"gpu_time", false}};

/// Whether gpu_time, where there is one, is duration x num_gpus.
bool fits_gpu_time(CsvReader& rows, Duration run, std::uint32_t gpus) {
  if (!rows.is_given(gpu_time)) return true;
  const auto said_s = plain_number<double>(rows.field(gpu_time));
  const double product_s = run.in_s() * gpus;
  // Durations may be whole seconds and products of few digits.
  const double tolerance_s = gpus + 1e-5 * product_s;
  if (said_s && std::abs(*said_s - product_s) <= tolerance_s) return true;
  std::array<char, 64> product{};
  std::snprintf(product.data(), product.size(), "%.8g", product_s);
  rows.fault(gpu_time, "contradiction",
             fmt::format("gpu_time is {} but duration x num_gpus {}", rows.field(gpu_time), product.data()),
             "one of the three columns is damaged");
  return false;
}

}  // namespace

JobTrace read_philly(const SourceText& source, const JobTraceOptions& options) {
  TraceBuilder builder(source, options, "America/Los_Angeles");
  CsvReader rows(source, columns, OtherColumns::allowed, builder.diagnostics(), &builder.dirty());
  for (std::size_t number = 1; rows.next(); ++number) {
    const auto submitted = builder.timestamp(rows, timestamp);
    const auto run = rows.duration(duration, "s");
    const auto gpus = TraceBuilder::gpus(rows, num_gpus);
    if (!submitted || !run || !gpus || !fits_gpu_time(rows, *run, *gpus)) continue;
    TraceJob job;
    job.name = "job" + fmt::to_string(number);
    if (rows.is_given(cluster)) job.group = std::string(rows.field(cluster));
    job.run = *run;
    job.gpus = *gpus;
    job.line = rows.line();
    builder.add(std::move(job), *submitted);
  }
  return builder.finish();
}

}  // namespace weft
