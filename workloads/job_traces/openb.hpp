// SPDX-License-Identifier: Apache-2.0
// openb: pods of Alibaba's GPU-sharing cluster (Weng et al., USENIX ATC 2023; openb_pod_list_*.csv
// of cluster-trace-gpu-v2023).
//
//   name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,
//     creation_time,deletion_time,scheduled_time
//   pod-1,12000,16384,1,460,V100M16|V100M32,LS,Running,100,5100,103
//
// Columns and units as the README of the published data set describes them: times are seconds since
// an origin it does not name; num_gpu is 0 to 8; gpu_milli thousandths of a GPU, below 1000 where
// the pod shares one; pod_phase Succeeded, Running, Pending or Failed.
//
// Model: a pod is submitted at creation_time and holds its GPUs from scheduled_time to
// deletion_time. Its qos is the job's group. Assumed, and counted in the trace's assumptions
//   - a pod that asks for a share of a GPU holds a whole one: GPUs are not shared here, so such a
//     trace asks for more than it did;
//   - any GPU will do: gpu_spec is ignored;
//   - pods in phase Running that share the file's last deletion_time were cut off there by the end
//     of the recording.
// Left out: [no-gpus], [never-started] (no scheduled_time, as pods in phase Pending),
// [still-running] (no deletion_time), [end-before-start], [start-before-submit], and rows with bad
// values.
// Thread safety: pure functions.
#pragma once

#include "core/text/source_text.hpp"
#include "workloads/job_traces/job_trace.hpp"

namespace weft {

/// Throws InputError.
JobTrace read_openb(const SourceText& source, const JobTraceOptions& options = {});

}  // namespace weft
