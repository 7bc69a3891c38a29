// SPDX-License-Identifier: Apache-2.0
// Job-trace reader: a file in any known format -> JobTrace.
//
// Where it sits: `weft run --jobs=FILE:format`, `weft check` and scenarios load traces through it.
// A new format is a file in job_traces/ and an entry of job_trace_formats(). Files may be gzip.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Bits of JobTraceFormat::reads; --strict is every format's.
enum JobTraceOption : std::uint8_t {
  reads_time_zone = 1,
  reads_throughputs = 2,  ///< and --gpu-type
  reads_limit_share = 4,
};

/// A format that can be chosen by name.
struct JobTraceFormat {
  std::string_view name;
  std::string_view summary;  ///< one paragraph
  std::uint8_t reads = 0;    ///< sum of JobTraceOption
  JobTrace (*read)(const SourceText& source, const JobTraceOptions& options);
};

std::span<const JobTraceFormat> job_trace_formats();

/// Throws InputError: [unknown-format], [unused-flag], and what the format's reader throws.
/// `format` empty: "weft".
JobTrace load_job_trace(const std::string& path, std::string_view format, const JobTraceOptions& options = {});

/// What a trace holds, in lines for people: jobs, GPU time, when it begins, what really happened,
/// what was left out or assumed.
std::string describe(const JobTrace& trace);

}  // namespace weft
