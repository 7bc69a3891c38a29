// SPDX-License-Identifier: Apache-2.0
// Acme: job logs of the Seren and Kalos clusters of the Shanghai AI Laboratory (Hu et al., NSDI
// 2024; trace_seren.csv, trace_kalos.csv of AcmeTrace).
//
//   job_id,user,node_num,gpu_num,cpu_num,type,state,
//     submit_time,start_time,end_time,duration,queue,gpu_time
//   5,u1,1,8,128,Evaluation,FAILED,
//     2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,117,32,936.0
//
// Columns, states and units (seconds, GPU-seconds) as the README of the published data set
// describes them. Kalos has more columns (mem_per_pod_GB, shared_mem_per_pod, fail_time,
// stop_time), which are ignored, and a duration that includes the queueing: there end_time -
// start_time is taken, see start_end_log.hpp. Dates carry their offset (+08:00 in Seren, +00:00 in
// Kalos); without one they are Asia/Shanghai. The user is the job's group, the type (Pretrain,
// Evaluation, ...) its model.
// Thread safety: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_acme(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
