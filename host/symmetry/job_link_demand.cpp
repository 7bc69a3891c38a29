// SPDX-License-Identifier: Apache-2.0
#include "host/symmetry/job_link_demand.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace weft {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

/// Adds up demands of one direction.
class Demands {
 public:
  explicit Demands(const Topology& topology)
      : topology_(topology), share_(topology.link_count(), 0), most_(topology.link_count(), 0) {}

  void cross(LinkId link, double share) {
    double& largest = share_[link.index()];
    if (largest == 0) crossed_.push_back(link);
    largest = std::max(largest, share);
  }
  /// All that has been crossed since the last call belongs to this attaching link; none() if it is
  /// not known.
  void end(LinkId attaching) {
    const double rate_bps = attaching.is_none() ? unbounded : static_cast<double>(topology_.link(attaching).rate.in_bps());
    for (const LinkId link : crossed_) {
      if (most_[link.index()] == 0) used_.push_back(link);
      most_[link.index()] += rate_bps * share_[link.index()];
      share_[link.index()] = 0;
    }
    crossed_.clear();
  }
  std::vector<LinkId>& used() { return used_; }
  double most_bps(LinkId link) const { return most_[link.index()]; }

 private:
  const Topology& topology_;
  std::vector<double> share_;  ///< by link, of the attaching link at hand
  std::vector<LinkId> crossed_;
  std::vector<double> most_;  ///< by link
  std::vector<LinkId> used_;
};

}  // namespace

std::vector<LinkDemand> demands_of(const JobMessages& sent, const Topology& topology) {
  const FoldingPaths& paths = sent.paths();
  const auto narrowest = [&](std::span<const LinkId> way) {
    const auto rate = [&](LinkId link) { return topology.link(link).rate; };
    return way.empty() ? LinkId::none() : *std::ranges::min_element(way, {}, rate);
  };
  std::vector<LinkId> up(sent.rank_count());
  std::vector<LinkId> down(sent.rank_count());
  for (std::uint32_t rank = 0; rank < sent.rank_count(); ++rank) {
    up[rank] = narrowest(paths.way_up(rank));
    down[rank] = narrowest(paths.way_down(rank));
  }

  const auto add_up = [&](Demands& demands, bool sending) {
    const std::vector<LinkId>& attaching_of_rank = sending ? up : down;
    // Messages by attaching link, ascending; last those of which none is known.
    std::vector<LinkId> attaching = attaching_of_rank;
    attaching.push_back(LinkId::none());
    std::sort(attaching.begin(), attaching.end());
    attaching.erase(std::unique(attaching.begin(), attaching.end()), attaching.end());
    std::vector<std::uint32_t> group_of_rank;
    for (const LinkId link : attaching_of_rank) {
      group_of_rank.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(attaching, link) - attaching.begin()));
    }
    const std::uint32_t unknown = static_cast<std::uint32_t>(attaching.size() - 1);
    const auto rank_of = [&](const JobMessages::Message& message) { return sending ? message.source : message.destination; };
    const auto group_of = [&](const JobMessages::Message& message) {
      return paths.piece(message.piece).inside_host ? unknown : group_of_rank[rank_of(message)];
    };
    std::vector<std::uint32_t> end_of_group(attaching.size() + 1, 0);
    for (const JobMessages::Message& message : sent.all()) ++end_of_group[group_of(message) + 1];
    for (std::size_t group = 1; group < end_of_group.size(); ++group) end_of_group[group] += end_of_group[group - 1];
    std::vector<std::pair<std::uint32_t, std::uint32_t>> through(sent.all().size());  // piece, rank
    std::vector<std::uint32_t> next(end_of_group.begin(), end_of_group.end() - 1);
    for (const JobMessages::Message& message : sent.all()) through[next[group_of(message)]++] = {message.piece, rank_of(message)};

    constexpr std::uint32_t never = UINT32_MAX;
    std::vector<std::uint32_t> piece_seen(paths.piece_count(), never);
    std::vector<std::uint32_t> rank_seen(sent.rank_count(), never);
    for (std::uint32_t group = 0; group < attaching.size(); ++group) {
      for (std::uint32_t i = end_of_group[group]; i < end_of_group[group + 1]; ++i) {
        const auto [number, rank] = through[i];
        const FoldingPaths::Piece& piece = paths.piece(number);
        if (std::exchange(piece_seen[number], group) != group) {
          for (const FoldingPaths::Hop& hop : paths.hops(piece)) demands.cross(hop.link, hop.load);
        }
        if (!piece.is_whole && std::exchange(rank_seen[rank], group) != group) {
          for (const LinkId link : sending ? paths.way_up(rank) : paths.way_down(rank)) demands.cross(link, 1.0);
        }
      }
      demands.end(attaching[group]);
    }
  };
  Demands sending(topology);
  Demands receiving(topology);
  add_up(sending, true);
  add_up(receiving, false);
  std::vector<LinkId> used = sending.used();
  used.insert(used.end(), receiving.used().begin(), receiving.used().end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<LinkDemand> demands;
  for (const LinkId link : used) {
    // The paths of one end are not among the links that the other end was asked for.
    const double by_senders = sending.most_bps(link) > 0 ? sending.most_bps(link) : unbounded;
    const double by_receivers = receiving.most_bps(link) > 0 ? receiving.most_bps(link) : unbounded;
    demands.push_back({link, std::min(by_senders, by_receivers)});
  }
  return demands;
}

std::optional<JobLinkDemand> JobLinkDemand::find(const PlacedJob& job, const Topology& topology, const FlowSettings& settings,
                                                 const HostSpeeds& speeds) {
  if (job.collectives->uses_switches()) return {};
  JobMessages sent(std::span(&job, 1), topology, settings, speeds, {});
  if (!sent.collect()) return {};
  JobLinkDemand link_demand;
  link_demand.links_ = demands_of(sent, topology);
  return link_demand;
}

JobLinkDemand JobLinkDemand::renumbered(std::span<const LinkId> numbers) const {
  JobLinkDemand result = *this;
  for (LinkDemand& demand : result.links_) demand.link = numbers[demand.link.index()];
  return result;
}

}  // namespace weft
