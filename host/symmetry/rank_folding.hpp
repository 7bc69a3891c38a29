// SPDX-License-Identifier: Apache-2.0
// Rank folding: finds ranks that behave alike at every instant, so that the run simulates one rank
// of each class only.
//
// Where it sits: the assembler of a run asks find() for the jobs whose placement is known. Hosts
// run the representatives only. The flow fabric lets each of their transfers stand for those of the
// whole class (network/flow/transfer_folding). Results count by class size.
//
// Model: the coarsest partition of ranks and links in which members of a class see the same
// neighbours, found by colour refinement over 64-bit hashes. Ranks of a class then do the same at
// the same time, by induction over events, and the run on representatives gives every rank's times
// exactly, but for the rounding of sums of equal rates (equitable partitions: McKay, Practical
// graph isomorphism, 1981; Grohe et al., Dimension reduction via colour refinement, ESA 2014). A
// link of class K carries |R| a / |K| of a kind of messages from class R, where a member's message
// loads links of K by a in all. With a tolerance above zero delays within it count as equal.
// Links that hashing decides on and nobody can fill do not tell ranks apart (HashedWays::any); what
// they carry is counted at the end. docs/internals/folding.md has conditions, tolerance and limits.
//
// Cost: a few operations per message and round (host/ranks/job_messages,
// host/symmetry/folding_paths).
//
// Invariants
//   1. The representative of a class is its smallest rank.
//   2. find() is a pure function of its arguments.
// Thread safety: immutable after find().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/values/ids.hpp"
#include "host/ranks/host_speed.hpp"
#include "host/ranks/job_messages.hpp"
#include "network/flow/flow_settings.hpp"
#include "network/flow/transfer_folding.hpp"
#include "topologies/topology.hpp"

namespace weft {

class RankFolding;

/// The classes of one job's ranks, from 0.
class JobFolding {
 public:
  /// Of all jobs that were looked at together, and which of them this one is. Valid as long as that
  /// is.
  const RankFolding& whole() const { return *whole_; }
  std::uint32_t place() const { return place_; }
  std::uint32_t class_count() const { return static_cast<std::uint32_t>(representatives_.size()); }
  std::uint32_t class_of(RankId rank) const { return class_of_rank_[rank.index()]; }
  bool is_representative(RankId rank) const { return representatives_[class_of(rank)] == rank; }
  /// Ranks of a class.
  std::uint32_t size_of(std::uint32_t rank_class) const { return class_sizes_[rank_class]; }
  /// Ranks that the rank's representative is simulated for.
  std::uint32_t alike(RankId rank) const { return size_of(class_of(rank)); }

 private:
  friend class RankFolding;
  friend class FoldingSearch;
  const RankFolding* whole_ = nullptr;
  std::uint32_t place_ = 0;
  std::vector<std::uint32_t> class_of_rank_;
  std::vector<RankId> representatives_;
  std::vector<std::uint32_t> class_sizes_;
};

class RankFolding final : public LinkFolding {
 public:
  /// How much find() may look at before it gives up.
  using Limits = JobMessages::Limits;

  /// Null if no two ranks are alike, if a collective of any of the jobs has in_network steps, if a
  /// transfer has several queue pairs on different paths, if adaptive routing may choose between
  /// paths, which shows only while running, or beyond `limits`. Keeps the jobs. Requires: rates are
  /// max-min fair, for other allocations may tell flows apart that are alike.
  static std::shared_ptr<const RankFolding> find(std::vector<PlacedJob> jobs, const Topology& topology,
                                                 const FlowSettings& settings, const HostSpeeds& speeds, Duration tolerance,
                                                 const Limits& limits, HashedWays hashed = HashedWays::own);

  std::span<const PlacedJob> jobs() const { return jobs_; }
  /// As jobs(). Valid as long as this is.
  const JobFolding& of(std::size_t place) const { return foldings_[place]; }
  /// Of all jobs.
  std::uint32_t class_count() const { return static_cast<std::uint32_t>(relations_.size()); }

  /// Of a transfer of the job at this place. Requires: the source is a representative.
  TransferFolding::FoldedPath path(std::uint32_t place, const Transfer& transfer) const;
  Transfer seen_by_destination(std::uint32_t place, const Transfer& transfer) const;
  std::span<const std::pair<LinkId, LinkId>> representatives() const override { return representatives_of_links_; }
  std::uint32_t relations_counted() const override { return has_hashed_ways_ ? relation_count_ : 0; }
  void add_hashed(const Topology& topology, const FlowSettings& settings, std::span<const Bytes> moved,
                  std::vector<Bytes>& by_link) const override;

 private:
  friend class FoldingSearch;
  /// Whom a representative sends to.
  struct Relation {
    std::uint32_t connection = 0;
    RankId destination;
    bool in_collective = false;
    std::uint64_t kind = 0;
    std::uint32_t number = 0;  ///< FoldedPath::relation
    std::uint32_t first = 0;
    std::uint32_t count = 0;  ///< of links_ and loads_
    PathDelay delay;
  };
  /// Whom a representative receives from.
  struct Sender {
    std::uint64_t kind = 0;
    RankId rank;
  };

  explicit RankFolding(std::vector<PlacedJob> jobs) : jobs_(std::move(jobs)), foldings_(jobs_.size()) {}
  const Relation& relation_of(std::uint32_t place, const Transfer& transfer) const;
  RankId rank_at(std::uint32_t place, NodeId endpoint) const { return rank_of_node_[place].at(endpoint); }

  std::vector<PlacedJob> jobs_;
  std::vector<JobFolding> foldings_;                              ///< as jobs_
  std::vector<std::unordered_map<NodeId, RankId>> rank_of_node_;  ///< as jobs_
  /// As jobs_: where a job's classes begin in the following.
  std::vector<std::uint32_t> first_class_;
  /// By class; ascending by connection, destination, in_collective.
  std::vector<std::vector<Relation>> relations_;
  std::vector<std::vector<Sender>> senders_;  ///< by class, by kind
  std::uint32_t relation_count_ = 0;
  bool has_hashed_ways_ = false;
  std::vector<std::pair<LinkId, LinkId>> representatives_of_links_;
  std::vector<LinkId> links_;
  std::vector<double> loads_;
};

}  // namespace weft
