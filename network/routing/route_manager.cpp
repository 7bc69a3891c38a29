// SPDX-License-Identifier: Apache-2.0
#include "network/routing/route_manager.hpp"

#include "core/check.hpp"

namespace weft {

std::uint32_t RouteVersions::add(const std::vector<bool>& avoided, const std::vector<double>& shares, Time to_fetch_by,
                                 Time fetched) {
  auto routes = std::make_shared<AvailableRoutes>(topology_, weights_);
  routes->avoid(avoided, shares);
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = versions_.empty() ? 0 : versions_.rbegin()->first + 1;
  while (versions_.size() > 1 && std::next(versions_.begin())->second.to_fetch_by <= fetched) versions_.erase(versions_.begin());
  versions_.emplace(number, Version{std::move(routes), to_fetch_by});
  return number;
}

std::shared_ptr<const AvailableRoutes> RouteVersions::fetch(std::uint32_t version) const {
  const std::lock_guard lock(mutex_);
  return versions_.at(version).routes;
}

void RouteManager::handle(const Event& event, EventContext& context) {
  const Time now = context.now();
  if (event.kind == cable_changes) {
    outages_.change(event.payload_as<CableChanges>(), now);
    return plan_look(context);
  }
  WEFT_CHECK(event.kind == look, "the route manager knows the kind of every event it gets");
  looks_at_ = Time::max();
  if (outages_.take(now)) {
    // No window is longer than the delay: who was to fetch something that long ago has done so.
    const Time fetched = now.since_start() < delay_ ? Time::zero() : now - delay_;
    const std::uint32_t version = versions_.add(outages_.avoided(), outages_.shares(), now + delay_, fetched);
    for (const EntityId node : nodes_) context.send(node, delay_, routes_change, RoutesChange{version});
  }
  plan_look(context);
}

/// After all changes of the instant.
void RouteManager::plan_look(EventContext& context) {
  const Time next = outages_.next();
  if (next == Time::max() || next == looks_at_) return;
  looks_at_ = next;
  context.schedule(next - context.now(), EventClass::settle, look);
}

}  // namespace weft
