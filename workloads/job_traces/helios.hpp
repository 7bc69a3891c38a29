// SPDX-License-Identifier: Apache-2.0
// Helios: job logs of SenseTime's GPU clusters (Hu et al., SC 2021; cluster_log.csv of HeliosData).
//
//   job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
//   17,u1,vcA,8,64,1,COMPLETED,2020-04-01 00:00:11,2020-04-01 00:00:31,2020-04-01 01:00:31,3600,20
//
// Columns, states (COMPLETED, CANCELLED, FAILED, TIMEOUT, NODE_FAIL) and units (seconds; duration =
// end - start, queue = start - submit) as the README of the published data set describes them;
// about half of its jobs have no GPU and are left out. Dates carry no zone; the clusters are in
// China: Asia/Shanghai. The virtual cluster vc is the job's group. How rows become jobs:
// start_end_log.hpp.
// Thread safety: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_helios(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
