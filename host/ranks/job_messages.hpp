// SPDX-License-Identifier: Apache-2.0
// Job messages: who sends what to whom in placed jobs, every message that repeats once, with the
// way it takes.
//
// Where it sits: host/symmetry/rank_folding looks for ranks that are alike by them,
// host/symmetry/job_link_demand for the links that a job loads.
//
// Model: ranks are numbered through, job after job. A message stands for all that a rank sends to
// another by one rule and connection; a kind is what messages of one rule and connection have in
// common, a rule being how sender and receiver find each other: a distance in the group, a
// neighbour in a tree. The first colour of a rank is what tells it apart whatever its neighbours
// are: its job, role, host and the sizes of what it sends. Cost: 16 bytes and a few operations per
// message, so that the millions of an all-to-all can be looked at.
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "host/collectives/job_collectives.hpp"
#include "host/ranks/host_speed.hpp"
#include "host/symmetry/folding_paths.hpp"
#include "network/flow/flow_settings.hpp"
#include "topologies/topology.hpp"
#include "workloads/dag/dag.hpp"

namespace weft {

/// A job and where its ranks are.
struct PlacedJob {
  std::shared_ptr<const Workload> workload;
  std::shared_ptr<const JobCollectives> collectives;
  std::shared_ptr<const std::vector<NodeId>> endpoint_of_rank;  ///< all distinct
};

class JobMessages {
 public:
  /// One message that a rank sends again and again.
  struct Message {
    std::uint32_t kind = 0;  ///< index of kinds_
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::uint32_t piece = 0;
  };
  /// What messages of one rule and connection have in common.
  struct Kind {
    std::uint64_t hash = 0;
    std::uint32_t connection = 0;
    bool in_collective = false;
  };
  struct Limits {
    std::size_t messages = std::size_t{1} << 27;
    std::size_t hops = std::size_t{1} << 27;  ///< of paths that messages do not share
  };

  /// Keeps references. Parts of a buffer that does not divide evenly count as equal where the bytes
  /// by which they can differ take no longer than `tolerance` on the slowest link.
  JobMessages(std::span<const PlacedJob> jobs, const Topology& topology, const FlowSettings& settings, const HostSpeeds& speeds,
              const Limits& limits, HashedWays hashed = HashedWays::own, Duration tolerance = Duration::zero());

  /// False where FoldingPaths::piece_of() gives none, or beyond the limits.
  bool collect();

  const std::vector<Message>& all() const { return messages_; }
  /// Control messages, by which receivers tell senders of slots: of zero bytes, so that only their
  /// delays matter.
  const std::vector<Message>& controls() const { return controls_; }
  const std::vector<Kind>& kinds() const { return kinds_; }
  const FoldingPaths& paths() const { return paths_; }
  std::uint32_t rank_count() const { return static_cast<std::uint32_t>(endpoints_.size()); }
  /// By job.
  const std::vector<std::uint32_t>& first_rank() const { return first_rank_; }
  /// By rank.
  const std::vector<std::uint64_t>& first_colours() const { return first_colours_; }

 private:
  /// What the ops of a role ask of one communicator, each kind once.
  struct RoleUse {
    std::uint16_t communicator = 0;
    std::vector<Op> collectives;
    std::vector<std::pair<PeerAddressing, std::int32_t>> sends;
    bool overlaps = false;  ///< some of the collectives may be under way at once
  };
  /// A rule by which a program finds receivers.
  struct Route {
    std::uint64_t kind = 0;  ///< but for the communicator
    std::uint32_t step = 0;
    std::uint8_t channel = 0;
    bool is_distance = false;  ///< in the whole group
    std::uint32_t slots = 0;   ///< of all that is sent by it
  };
  /// What goes to a peer over a connection.
  struct Way {
    std::uint32_t connection = 0;
    RankId peer;
    std::uint32_t time = 0;  ///< equal for what may be under way at once
    std::uint32_t kind = 0;
    friend auto operator<=>(const Way&, const Way&) = default;
  };
  /// Hashes of the sizes that a program's positions send, by what tells positions apart.
  struct SizeHashes {
    std::vector<PartIndex> indices;
    std::map<std::vector<std::uint32_t>, std::uint64_t> by_residues;
  };
  static std::vector<NodeId> endpoints_of(std::span<const PlacedJob> jobs);
  void collect_roles();
  const std::vector<Route>& routes_of(const CollectivePlan& plan, std::uint32_t position);
  static std::set<std::uint16_t> communicators_with_overlaps(const RoleDag& dag, const std::map<std::uint16_t, RoleUse>& uses);
  static bool is_distance(const CollectivePlan& plan, const CollectiveStep& step);
  std::uint64_t kind_of(const CollectivePlan& plan, std::uint32_t position, const CollectiveStep& step);
  std::uint64_t sizes_hash(const CollectivePlan& plan, std::uint32_t position);
  static std::uint64_t costs_hash(const CollectiveProtocol& protocol);
  bool parts_count_as_equal(const CollectivePlan& plan) const;
  static std::uint64_t all_sizes_hash(const CollectivePlan& plan, std::uint32_t position);
  static std::vector<PartIndex> indices_of(const CollectiveProgram& program);
  bool collect_messages();
  std::optional<std::uint32_t> add_message(std::uint32_t rank, RankId to, std::uint32_t connection, std::uint64_t rule,
                                           bool in_collective);
  bool add_controls(std::uint32_t rank, const CollectivePlan& plan, std::uint32_t position, std::uint16_t communicator,
                    std::span<const RankId> group);
  /// Which kinds of the rank at hand go one after another, as their connections and peers are the
  /// same.
  std::uint64_t shared_ways_hash();
  /// Number of the kind, and whether the pair of rank and communicator at hand has sent none of it
  /// yet.
  std::pair<std::uint32_t, bool> note_kind(std::uint32_t connection, std::uint64_t rule, bool in_collective);

  std::span<const PlacedJob> jobs_;
  const Topology& topology_;
  const HostSpeeds& speeds_;
  Limits limits_;
  Duration tolerance_;
  Bandwidth slowest_ = Bandwidth::zero();  ///< link, where there is a tolerance
  std::vector<NodeId> endpoints_;          ///< by rank
  FoldingPaths paths_;

  std::uint32_t job_ = 0;                  ///< at hand
  std::vector<std::uint32_t> first_rank_;  ///< by job
  std::vector<std::vector<RoleUse>> role_uses_;
  std::unordered_map<const CollectiveProgram*, std::vector<Route>> routes_;
  std::unordered_map<const CollectiveProgram*, SizeHashes> size_hashes_;
  std::unordered_map<const Subgroups*, std::uint64_t> division_hashes_;
  std::unordered_map<std::uint64_t, std::uint32_t> kind_numbers_;
  std::vector<Kind> kinds_;
  std::uint64_t sending_ = 0;           ///< counts pairs of rank and communicator
  std::vector<std::uint64_t> sent_by_;  ///< by kind: the last of those pairs that sends it
  std::vector<Way> ways_;               ///< of the rank at hand, whose peers may be the same
  std::vector<Message> messages_;
  std::vector<Message> controls_;
  /// Of the job at hand: kinds of control messages by connection, who tells and who is told.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> control_rules_;
  std::vector<std::uint64_t> first_colours_;
};

}  // namespace weft
