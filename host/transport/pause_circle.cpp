// SPDX-License-Identifier: Apache-2.0
#include "host/transport/pause_circle.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace weft {

std::vector<LinkId> find_pause_circle(const PauseGraph& waits_for) {
  // Depth first: a place that is met again on the way to itself closes the circle.
  std::set<PausedPlace> done;
  std::vector<PausedPlace> route;
  const std::function<std::vector<LinkId>(PausedPlace)> search = [&](PausedPlace at) -> std::vector<LinkId> {
    const auto met = std::find(route.begin(), route.end(), at);
    if (met != route.end()) {
      std::vector<LinkId> circle;
      for (auto place = met; place != route.end(); ++place) circle.push_back(place->first);
      return circle;
    }
    const auto next = waits_for.find(at);
    if (next == waits_for.end() || !done.insert(at).second) return {};
    route.push_back(at);
    for (const PausedPlace& place : next->second) {
      std::vector<LinkId> circle = search(place);
      if (!circle.empty()) return circle;
    }
    route.pop_back();
    return {};
  };
  for (const auto& [place, others] : waits_for) {
    std::vector<LinkId> circle = search(place);
    if (!circle.empty()) return circle;
  }
  return {};
}

}  // namespace weft
