// Rank folding: finds ranks that behave alike at every instant, so that one of each class needs to be simulated.
//
// Where it sits: the assembler of a run with one job asks find() once the placement is known; hosts run the representatives only, the flow
// fabric lets each of their transfers stand for those of the whole class (network/transfer_folding), results count by class size.
//
// Model: two ranks may share a class if they play one role with messages of equal sizes and if, for every message, the peers share a class, the
// delays are equal, both or neither stay inside a host, and the paths cross links of the same classes with the same loads. Two links may share a class
// if they have one rate and carry the same number of messages of every kind, a kind being (class of the source, connection, rule by which sender and
// receiver find each other: a distance in the group, a neighbour in a tree).
// The coarsest such partition is found by colour refinement: start from roles and rates, split by what neighbours look like, until nothing
// splits. Ranks of a class then start together and, by induction over events, stay together: the same ops, the same transfers, and max-min
// rates that are the same for all transfers of a kind, since each link of a class has the same equation. So the run on representatives, with
// loads that count the transfers on a link, gives every rank's times: exactly, but for the rounding of sums of equal rates.
// (Equitable partitions: McKay, Practical graph isomorphism, 1981; of max-min problems as of linear programs: Grohe et al., Dimension
// reduction via colour refinement, ESA 2014.)
// What one link of class K carries of a kind from class R, of which a member's message loads links of K by a in all, is |R| a / |K|.
//
// What makes ranks different: another role, a host of another speed, hashed ECMP paths that collide here and not there (spraying does not), part sizes that differ by a
// byte because a buffer does not divide evenly, a group that straddles leaf switches where others do not.
//
// Cost: 16 bytes and a few operations per message and round, so that the millions of messages of an all-to-all can be looked at. Their paths are put
// together from shared pieces: from an endpoint to its switch, between two switches, and down again (folding_paths).
// Refinement compares sums of 64-bit hashes; the partition it ends with has to pass a round with other hashes as well.
// Invariants: 1. the representative of a class is its smallest rank; 2. pure function of the arguments.
// Thread safety: immutable after find().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "host/host_speed.hpp"
#include "host/job_collectives.hpp"
#include "network/flow_settings.hpp"
#include "network/transfer_folding.hpp"
#include "topologies/topology.hpp"
#include "workloads/dag.hpp"

namespace weft {

class RankFolding final : public TransferFolding {
 public:
  /// How much find() may look at before it gives up.
  struct Limits {
    std::size_t messages = std::size_t{1} << 27;
    std::size_t hops = std::size_t{1} << 27;  ///< of paths that messages do not share
  };

  /// Null if no two ranks are alike, if a transfer has several queue pairs on different paths, or beyond `limits`. Keeps a reference to the
  /// workload. Requires: `endpoint_of_rank` has one distinct endpoint per rank; rates are max-min fair, for other allocations may tell flows apart
  /// that are alike.
  static std::shared_ptr<const RankFolding> find(const Workload& workload, const JobCollectives& collectives,
                                                 const Topology& topology, const FlowSettings& settings, const HostSpeeds& speeds,
                                                 std::vector<NodeId> endpoint_of_rank, const Limits& limits);

  std::uint32_t class_count() const { return static_cast<std::uint32_t>(representatives_.size()); }
  std::uint32_t class_of(RankId rank) const { return class_of_rank_[rank.index()]; }
  bool is_representative(RankId rank) const { return representatives_[class_of(rank)] == rank; }
  /// Ranks of a class.
  std::uint32_t size_of(std::uint32_t rank_class) const { return class_sizes_[rank_class]; }
  std::span<const NodeId> endpoint_of_rank() const { return endpoint_of_rank_; }
  /// Messages that were looked at: those that the ranks send again and again.
  std::uint64_t message_count() const { return message_count_; }

  FoldedPath path(const Transfer& transfer) const override;
  Transfer seen_by_destination(const Transfer& transfer) const override;
  LinkId representative(LinkId link) const override { return representative_link_[link.index()]; }

 private:
  friend class FoldingSearch;
  /// Whom a representative sends to.
  struct Relation {
    std::uint32_t connection = 0;
    RankId destination;
    bool in_collective = false;
    std::uint64_t kind = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;  ///< of links_ and loads_
  };
  /// Whom a representative receives from.
  struct Sender {
    std::uint64_t kind = 0;
    RankId rank;
  };

  RankFolding(const Workload& workload, std::vector<NodeId> endpoint_of_rank)
      : workload_(workload), endpoint_of_rank_(std::move(endpoint_of_rank)) {}
  const Relation& relation_of(const Transfer& transfer) const;

  const Workload& workload_;
  std::vector<NodeId> endpoint_of_rank_;
  std::vector<RankId> rank_of_node_;  ///< none() where no rank is
  std::vector<std::uint32_t> class_of_rank_;
  std::vector<RankId> representatives_;
  std::vector<std::uint32_t> class_sizes_;
  std::vector<LinkId> representative_link_;
  std::vector<std::vector<Relation>> relations_;  ///< by class; ascending by connection, destination, in_collective
  std::vector<std::vector<Sender>> senders_;      ///< by class, by kind
  std::vector<LinkId> links_;
  std::vector<double> loads_;
  std::uint64_t message_count_ = 0;
};

}  // namespace weft
