// Job-trace reader: a file in any known format -> JobTrace.
//
// Where it sits: `weft run --jobs=FILE:format` loads traces through it. A new format is a file in job_traces/ and an entry of
// job_trace_formats(). Files may be gzip.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/source_text.hpp"
#include "workloads/job_trace.hpp"

namespace weft {

/// A format that can be chosen by name.
struct JobTraceFormat {
  std::string_view name;
  std::string_view summary;  ///< one paragraph
  JobTrace (*read)(const SourceText& source);
};

std::span<const JobTraceFormat> job_trace_formats();

/// Throws InputError: [unknown-format], and what the format's reader throws. `format` empty: "weft".
JobTrace load_job_trace(const std::string& path, std::string_view format);

}  // namespace weft
