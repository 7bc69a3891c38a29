// SPDX-License-Identifier: Apache-2.0
// Max-min audit: whether given rates are the weighted max-min fair ones with strict priorities, by
// the definition.
//
// Where it sits: MaxMinSolver audits itself with it; tests audit any rates. It is independent of
// how rates were found.
//
// Model: no link carries more than its capacity and no flow more than its cap; and every flow is at
// its cap or crosses a bottleneck: a link that it and the flows of its class and of the classes
// above fill, and on which no flow of its class has a higher rate per weight. That names exactly
// one set of rates (Bertsekas and Gallager, Data Networks, section 6.5.2, class by class).
// Full and equal are meant up to a tolerance, relative to the capacity and to the rate: where the
// classes above leave less of a link than that, any rates of the others pass.
// Threads: a function.
#pragma once

#include <cstddef>
#include <span>

#include "network/max_min/flow_link_graph.hpp"

namespace weft {

struct MaxMinAudit {
  std::size_t overloaded_links = 0;  ///< carry more than their capacity
  std::size_t flows_above_cap = 0;   ///< get more than they may use
  /// Neither at their cap nor across a bottleneck; also those whose rate is no number.
  std::size_t flows_without_bottleneck = 0;
  bool passed() const { return overloaded_links == 0 && flows_above_cap == 0 && flows_without_bottleneck == 0; }
};

/// `rates` by slot.
MaxMinAudit audit_max_min(const FlowLinkGraph& graph, std::span<const double> rates, double relative_tolerance);

}  // namespace weft
