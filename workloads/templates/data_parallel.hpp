// SPDX-License-Identifier: Apache-2.0
// Template "data_parallel": every rank holds the whole model; gradients are all-reduced in buckets
// while backward goes on.
//
// Where it sits: one of workload_templates(). All ranks play one role:
//
//   forward -> backward_{B-1} -> ... -> backward_0 -> step
//                  |                        |           ^
//                  v                        v           |
//              reduce_{B-1}  ->  ...  -> reduce_0 ------+
//
// Bucket i is reduced when backward_i has ended; the step waits for all buckets, as in PyTorch's
// DistributedDataParallel (arXiv 2006.15704, section 3.2): buckets fill from the
// last layer on and are reduced in order on one communication stream.
// Thread safety: constants and pure functions.
#pragma once

#include "workloads/templates/workload_templates.hpp"

namespace weft {

Module<WorkloadFactory> data_parallel_module();

}  // namespace weft
