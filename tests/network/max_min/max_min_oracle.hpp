// SPDX-License-Identifier: Apache-2.0
// Two slow ways to max-min fair rates, independent of the solver and of each other: exact rational
// arithmetic, and the textbook loop in doubles.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "network/max_min/flow_link_graph.hpp"

// GCC 12 under sanitizers takes the unused limbs of a short integer for uninitialised ones that are
// read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <boost/multiprecision/cpp_int.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace weft {

/// Raises all levels of one priority class together; when a link is full or a cap reached, its
/// flows stop. `rates`, by flow slot, has those of the classes above and 0 for all others.
template <class Number>
void fill_class(const FlowLinkGraph& graph, std::uint8_t priority, std::vector<Number>& rates) {
  const std::size_t links = graph.link_count();
  std::vector<bool> fixed(graph.slot_count(), true);
  std::size_t left = 0;
  for (std::uint32_t f = 0; f < graph.slot_count(); ++f) {
    if (!graph.alive(FlowSlot(f)) || graph.priority(FlowSlot(f)) != priority) continue;
    fixed[f] = false;
    ++left;
  }
  while (left > 0) {
    std::optional<Number> least;
    std::vector<std::optional<Number>> share(links);
    for (std::uint32_t l = 0; l < links; ++l) {
      Number free(graph.capacity(LinkId(l)));
      Number weight(0);
      for (const auto& member : graph.members(LinkId(l))) {
        if (fixed[member.flow.index()]) {
          free -= rates[member.flow.index()] * Number(graph.load(member));
        } else {
          weight += Number(graph.weight(member.flow)) * Number(graph.load(member));
        }
      }
      if (weight == 0) continue;
      share[l] = Number(free / weight);
      if (!least || *share[l] < *least) least = share[l];
    }
    for (std::uint32_t f = 0; f < graph.slot_count(); ++f) {
      if (fixed[f] || graph.cap(FlowSlot(f)) == std::numeric_limits<double>::infinity()) continue;
      const Number cap_level = Number(graph.cap(FlowSlot(f))) / Number(graph.weight(FlowSlot(f)));
      if (cap_level < *least) least = cap_level;
    }
    for (std::uint32_t f = 0; f < graph.slot_count(); ++f) {
      if (fixed[f]) continue;
      const FlowSlot flow(f);
      bool stops = graph.cap(flow) != std::numeric_limits<double>::infinity() &&
                   Number(Number(graph.cap(flow)) / Number(graph.weight(flow))) <= *least;
      for (const auto& hop : graph.hops(flow)) stops = stops || (share[hop.link.index()] && *share[hop.link.index()] <= *least);
      if (!stops) continue;
      rates[f] = *least * Number(graph.weight(flow));
      fixed[f] = true;
      --left;
    }
  }
}

/// Progressive filling, by the definition, the highest class first. `Number` is exact or long
/// double. Rates by flow slot; 0 for free slots.
template <class Number>
std::vector<Number> fill_progressively(const FlowLinkGraph& graph) {
  std::vector<Number> rates(graph.slot_count(), Number(0));
  for (std::uint8_t priority = priority_classes; priority-- > 0;) fill_class(graph, priority, rates);
  return rates;
}

using ExactNumber = boost::multiprecision::cpp_rational;

/// |a - b| relative to b; absolute where b is 0.
inline double relative_error(double a, double b) { return b == 0 ? std::abs(a) : std::abs(a - b) / std::abs(b); }

}  // namespace weft
