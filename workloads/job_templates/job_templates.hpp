// SPDX-License-Identifier: Apache-2.0
// Job templates: job traces that are made up so that their aggregates are those that a cluster's
// operators published, for users who have no trace of their own.
//
// Where it sits: `weft jobs make` chooses one by name and writes the trace as Weft's CSV, `weft
// modules job-template` prints them. A template is a table of aggregates in published_clusters.cpp;
// all are made by fitted_jobs.
// Thread safety: constants; factories may be called from any thread.
#pragma once

#include <cstdint>
#include <span>

#include "core/text/params.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError: [no-fit] where no trace of the family has such aggregates, [bad-value].
using JobTemplateFactory = JobTrace (*)(const ParamSet& params, std::uint64_t seed, const SourcePlace& place);

/// Every template, in the order in which they are printed.
std::span<const Module<JobTemplateFactory>> job_templates();

}  // namespace weft
