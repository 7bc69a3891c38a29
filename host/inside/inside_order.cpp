// SPDX-License-Identifier: Apache-2.0
#include "host/inside/inside_order.hpp"

#include <algorithm>
#include <set>

#include "workloads/dag/dag.hpp"

namespace weft {

namespace {

/// Computation on the path from one op to a later one that has most of it; none if no path leads
/// there.
std::optional<Duration> computation_between(const RoleDag& dag, OpId from, OpId to) {
  // By op, from the first: most computation before it; below zero: no path leads there.
  constexpr Duration none = Duration::ticks(-1);
  std::vector<Duration> before(to.index() - from.index() + 1, none);
  before.front() = Duration::zero();
  for (std::uint32_t at = from.index(); at < to.index(); ++at) {
    const Duration so_far = before[at - from.index()];
    if (so_far == none) continue;
    const Duration own = dag.kind(OpId(at)) == OpKind::compute ? dag.op(OpId(at)).duration : Duration::zero();
    // What goes beyond the clock goes beyond any gap that matters.
    const Duration after = own > Duration::max() - so_far ? so_far : so_far + own;
    for (const OpId next : dag.successors(OpId(at))) {
      if (next > to) continue;
      Duration& known = before[next.index() - from.index()];
      known = std::max(known, after);
    }
  }
  return before.back() == none ? std::nullopt : std::optional(before.back());
}

}  // namespace

std::optional<InsideOrder> InsideOrder::of(const RoleDag& dag, const std::vector<bool>& inside) {
  InsideOrder order;
  order.after_.resize(dag.size());
  std::set<Partner> partners;
  std::set<std::uint16_t> elsewhere;
  std::optional<OpId> last;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    const OpId op(i);
    const OpKind kind = dag.kind(op);
    if (kind == OpKind::compute) continue;
    const Op description = dag.op(op);
    if (kind != OpKind::collective) {
      partners.insert({description.communicator, description.addressing, description.peer});
    } else if (inside[description.communicator]) {
      if (last) {
        const std::optional<Duration> gap = computation_between(dag, *last, op);
        if (!gap) return std::nullopt;
        order.after_[last->index()] = {op, *gap};
      }
      last = op;
    } else {
      elsewhere.insert(description.communicator);
    }
  }
  order.partners_.assign(partners.begin(), partners.end());
  order.elsewhere_.assign(elsewhere.begin(), elsewhere.end());
  return order;
}

const InsideOrder* InsideOrders::of(const RoleDag& dag, const std::vector<bool>& inside) {
  const std::scoped_lock lock(mutex_);
  const auto [known, is_new] = known_.try_emplace({&dag, inside});
  if (is_new) known->second = InsideOrder::of(dag, inside);
  return known->second ? &*known->second : nullptr;
}

}  // namespace weft
