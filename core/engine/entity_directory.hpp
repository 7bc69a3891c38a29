// SPDX-License-Identifier: Apache-2.0
// Entity directory: who exists, in which logical process each lives, and who may send to whom how
// fast.
//
// Where it sits: filled by EngineBuilder, read by EventProcess (is this message allowed?) and
// Outbox (where does it go?).
//
// Invariants
//   1. Ids are dense, in order of registration. Places are final once the engine is built.
//   2. connections of an entity are sorted by target, each target once, with the smallest minimum
//      delay declared for it.
// Thread safety: immutable while windows run; any thread may read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/entity.hpp"
#include "core/values/ids.hpp"
#include "core/values/units.hpp"

namespace weft {

/// Where an entity lives.
struct EntityPlace {
  LpId lp;
  std::uint32_t local = 0;  ///< index among the entities of its LP
};

class EntityDirectory {
 public:
  struct Connection {
    EntityId target;
    Duration min_delay;
  };

  std::size_t size() const { return entities_.size(); }
  Entity& entity(EntityId id) const { return *entities_[id.index()]; }
  const std::string& name(EntityId id) const { return names_[id.index()]; }
  EntityPlace place(EntityId id) const { return places_[id.index()]; }

  std::size_t connection_count(EntityId from) const {
    return connections_begin_[from.index() + 1] - connections_begin_[from.index()];
  }

  /// The least delay a message may have; null if the two were not connected.
  const Duration* find_min_delay(EntityId from, EntityId to) const {
    const Connection* first = connections_.data() + connections_begin_[from.index()];
    const Connection* last = connections_.data() + connections_begin_[from.index() + 1];
    if (first != last) {
      // Neighbours mostly have consecutive ids (a fabric and its hosts), so that the guess is
      // nearly always right.
      const std::uint32_t guess = to.index() - first->target.index();
      if (guess < static_cast<std::uint64_t>(last - first) && first[guess].target == to) return &first[guess].min_delay;
      const Connection* found =
          std::lower_bound(first, last, to, [](const Connection& connection, EntityId id) { return connection.target < id; });
      if (found != last && found->target == to) return &found->min_delay;
    }
    return min_delay_of_all_ ? &*min_delay_of_all_ : nullptr;
  }

 private:
  friend class EngineBuilder;
  friend class Engine;
  std::vector<std::unique_ptr<Entity>> entities_;
  std::vector<std::string> names_;
  std::vector<EntityPlace> places_;
  std::vector<std::size_t> connections_begin_;  ///< CSR over connections_
  std::vector<Connection> connections_;
  /// Between any two entities not connected by themselves.
  std::optional<Duration> min_delay_of_all_;
};

}  // namespace weft
