// SPDX-License-Identifier: Apache-2.0
// Workload GPU: which GPU the computation of made workloads is reckoned for.
//
// Where it sits: workload_entries asks for templates and for plans that name no GPU.
//
// Model: the GPU of the cluster's servers, where its topology names them
// (topologies/builders/server_presets). Defaults of templates are of an H100: a rate of products is
// scaled by the dense BF16 peaks, the rate of memory is that of the GPU.
// Threads: one.
#pragma once

#include <string>

#include "core/text/params.hpp"
#include "tools/simulation/scenario/loading.hpp"

namespace weft {

/// A preset (host/op_times/gpu_presets), that of an H100 where the topology names no server.
std::string workload_gpu(const Loading& loading);

/// Sets what the user left at the defaults of an H100. Requires: `gpu` is a preset.
void take_rates_of(const std::string& gpu, ParamSet& of_template);

}  // namespace weft
