// SPDX-License-Identifier: Apache-2.0
// Collective replay: what a collective of ranks on one host comes to, from when the last of them
// has begun.
//
// Where it sits: an island (host/inside/island) tries a collective once and replays it for all
// hosts, iterations and layers in which the same ranks begin as far apart.
//
// Model: times inside a host depend on nothing but the plan, the links, and when each rank begins.
// So a collective that nothing else disturbs is known by (plan, links in the order of the ranks,
// how long before the last rank each one began).
// Threads: a CollectiveReplays may be asked by all; what it gives out is immutable. As an outcome
// is a function of its key, it does not matter who found it first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/values/units.hpp"
#include "host/ranks/slot_holdups.hpp"
#include "network/flow/private_links.hpp"

namespace weft {

/// Times are from when the last rank began, and may lie before it.
struct CollectiveReplay {
  struct Moved {
    std::uint32_t source = 0;  ///< positions in the group
    std::uint32_t destination = 0;
    std::uint32_t connection = 0;
    std::uint32_t detail = 0;  ///< MessageTag::detail
    Bytes size;
    Duration start;
    Duration end;
    Duration ideal;
  };
  struct Held {
    std::uint32_t position = 0;
    std::uint32_t peer = 0;
    SlotHoldup holdup;  ///< of the ranks of the trial
  };

  const CollectivePlan* plan = nullptr;
  std::vector<Duration> ahead;           ///< by position, how long before the last it began
  std::vector<Duration> finish;          ///< when each position's last step is done
  Duration last_finish;                  ///< of these
  std::vector<std::uint32_t> by_finish;  ///< positions
  std::vector<Moved> transfers;          ///< in the order in which they left their sources
  std::vector<Bytes> link_bytes;         ///< by private link
  std::vector<Held> held;
  Duration busy_until;  ///< since when no byte has been under way
};

class CollectiveReplays {
 public:
  struct Key {
    const CollectivePlan* plan = nullptr;
    std::uint32_t layout = 0;
    std::vector<Duration> ahead;  ///< by position, how long before the last it began
    friend bool operator==(const Key&, const Key&) = default;
  };

  /// The number of links in an order of ranks: the same for those that are alike. `places` are the
  /// positions' in the links.
  std::uint32_t layout_of(const std::shared_ptr<const PrivateLinks>& links, const std::vector<std::uint32_t>& places);

  /// Null if nobody has tried it. Valid as long as this.
  const CollectiveReplay* find(const Key& key) const;
  /// What stands for the key from now on.
  const CollectiveReplay* add(const Key& key, CollectiveReplay replay);

  /// Whether no rank can be done with a collective before all have begun it, and no step of it is a
  /// switch's.
  bool awaits_all(const CollectivePlan& plan);

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const PrivateLinks>> links_;  ///< no two alike
  std::map<std::pair<std::size_t, std::vector<std::uint32_t>>, std::uint32_t> layouts_;
  // Looked up only.
  std::unordered_map<Key, CollectiveReplay, Hash> replays_;
  std::unordered_map<const CollectivePlan*, bool> awaits_all_;
};

/// Whether all positions do the same, each with those as far from it.
bool are_alike(const CollectivePlan& plan);
/// As CollectiveReplays::awaits_all(), found from the programs.
bool awaits_all(const CollectivePlan& plan, std::uint32_t ranks);

}  // namespace weft
