// SPDX-License-Identifier: Apache-2.0
// Hardware network: the communication of a plan's axes by the closed forms of a hardware
// configuration, and the configuration that a cluster amounts to.
//
// Where it sits: instead of plan_network.hpp where users give --hardware-config; estimators of the
// literature, which know two kinds of links, ask it on any cluster.
// Model: collective_formulas.hpp; all-gathers and reduce-scatters are half an all-reduce.
// Threads: pure functions; as the formula, which is asked for four messages.
#pragma once

#include "host/projections/hardware_config.hpp"
#include "host/projections/network_formula.hpp"
#include "workloads/plans/training_steps.hpp"

namespace weft {

/// Both are copied.
AxisClock hardware_clock(const HardwareConfig& hardware, const ParallelPlan& plan);

/// Rates and latencies of what two messages between GPUs of a host take, and two between hosts; of
/// GPUs that are cabled to each other all links together. Every GPU has its share of the cards.
/// Where there is one host, its own links stand for both. Requires: the formula is the topology's.
HardwareConfig hardware_of(const Topology& topology, const NetworkFormula& formula, const std::string& name);

}  // namespace weft
