// Rank folding: finds ranks that behave alike at every instant, so that one of each class needs to be simulated.
//
// Where it sits: the assembler of a run asks find() for the jobs whose placement is known; hosts run the representatives only, the flow
// fabric lets each of their transfers stand for those of the whole class (network/flow/transfer_folding), results count by class size.
//
// Model: two ranks may share a class if they play one role with messages of equal sizes and if, for every message, the peers share a class,
// the delays are equal, both or neither stay inside a host, and the paths cross links of the same classes with the same loads. Two links
// may share a class if they have one rate and carry the same number of messages of every kind, a kind being (class of the source,
// connection, rule by which sender and receiver find each other: a distance in the group, a neighbour in a tree). Priorities need no place
// in it: they stand in the ops of the role, which a class shares, and the messages of a kind have one path whatever their priorities. Rate
// limits of queue pairs are the same for all; one that stands for many has its own, as its rate is that of each.
// The coarsest such partition is found by colour refinement: start from roles and rates, split by what neighbours look like, until nothing
// splits. Ranks of a class then start together and, by induction over events, stay together: the same ops, the same transfers, and max-min
// rates that are the same for all transfers of a kind, since each link of a class has the same equation. So the run on representatives,
// with loads that count the transfers on a link, gives every rank's times: exactly, but for the rounding of sums of equal rates. (Equitable
// partitions: McKay, Practical graph isomorphism, 1981; of max-min problems as of linear programs: Grohe et al., Dimension reduction via
// colour refinement, ESA 2014.) Several jobs are looked at together, ranks of different jobs never share a class. The induction does not
// need to know when jobs start and end: what it says of a job's ranks holds whatever links other jobs load, as long as these do so alike
// for links of one class, and those other jobs' messages are among those that made the classes. A job that was not among them can tell
// ranks apart; with it, all have to be folded anew. What one link of class K carries of a kind from class R, of which a member's message
// loads links of K by a in all, is |R| a / |K|.
//
// With a tolerance above zero ranks are folded loosely. Links that all jobs at hand together cannot fill (host/symmetry/job_link_demand) hold nobody back and tell
// nobody apart, which is exact; and delays that differ by no more than the tolerance count as equal: messages of a class and kind get their mean. So a
// rank's times are off by what its delays are off from that mean. Of links that hold nobody back, those between nodes of the same kinds and levels at one
// rate count as alike: what each carries is their mean, too.
//
// Ranks whose collectives ask switches to reduce (nvls, sharp) are not folded: one flow stands for all members of such an operation as it
// is.
//
// What makes ranks different: another role, a host of another speed, hashed ECMP paths or a user's routes that collide here and not there (spraying
// does not), part sizes that differ by a byte because a buffer does not divide evenly, a group that straddles leaf switches where others do not.
//
// Cost: a few operations per message (job_messages) and round. Their paths are put together from shared pieces: from an endpoint to its switch, between
// two switches, and down again (folding_paths).
// Refinement compares sums of 64-bit hashes; the partition it ends with has to pass a round with other hashes as well.
// Invariants: 1. the representative of a class is its smallest rank; 2. pure function of the arguments.
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
  /// Of all jobs that were looked at together, and which of them this one is. Valid as long as that is.
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

  /// Null if no two ranks are alike, if a collective of any of the jobs has in_network steps, if a transfer has several queue pairs on
  /// different paths, if adaptive routing may choose between paths, which shows only while running, or beyond `limits`. Keeps the jobs.
  /// Requires: rates are max-min fair, for other allocations may tell flows apart that are alike.
  static std::shared_ptr<const RankFolding> find(std::vector<PlacedJob> jobs, const Topology& topology,
                                                 const FlowSettings& settings, const HostSpeeds& speeds, Duration tolerance,
                                                 const Limits& limits);

  std::span<const PlacedJob> jobs() const { return jobs_; }
  /// As jobs(). Valid as long as this is.
  const JobFolding& of(std::size_t place) const { return foldings_[place]; }
  /// Of all jobs.
  std::uint32_t class_count() const { return static_cast<std::uint32_t>(relations_.size()); }

  /// Of a transfer of the job at this place. Requires: the source is a representative.
  TransferFolding::FoldedPath path(std::uint32_t place, const Transfer& transfer) const;
  Transfer seen_by_destination(std::uint32_t place, const Transfer& transfer) const;
  std::span<const std::pair<LinkId, LinkId>> representatives() const override { return representatives_of_links_; }

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
  std::vector<std::uint32_t> first_class_;                        ///< as jobs_: where a job's classes begin in the following
  std::vector<std::vector<Relation>> relations_;                  ///< by class; ascending by connection, destination, in_collective
  std::vector<std::vector<Sender>> senders_;                      ///< by class, by kind
  std::vector<std::pair<LinkId, LinkId>> representatives_of_links_;
  std::vector<LinkId> links_;
  std::vector<double> loads_;
};

}  // namespace weft
