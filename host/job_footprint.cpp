#include "host/job_footprint.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>

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
  /// All that has been crossed since the last call belongs to this attaching link; none() if it is not known.
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

  // (attaching link, piece, a rank of the attached ones whose way is crossed, too)
  std::vector<std::tuple<LinkId, std::uint32_t, std::uint32_t>> through;
  const auto add_up = [&](Demands& demands, bool sending) {
    through.clear();
    for (const JobMessages::Message& message : sent.all()) {
      const FoldingPaths::Piece& piece = paths.piece(message.piece);
      const std::uint32_t rank = sending ? message.source : message.destination;
      through.emplace_back(piece.inside_host ? LinkId::none() : (sending ? up : down)[rank], message.piece, rank);
    }
    std::sort(through.begin(), through.end());
    through.erase(std::unique(through.begin(), through.end()), through.end());
    std::uint32_t last_piece = UINT32_MAX;
    for (std::size_t i = 0; i < through.size(); ++i) {
      const auto [attaching, number, rank] = through[i];
      const FoldingPaths::Piece& piece = paths.piece(number);
      if (number != last_piece) {
        for (const FoldingPaths::Hop& hop : paths.hops(piece)) demands.cross(hop.link, hop.load);
        last_piece = number;
      }
      if (!piece.is_whole) {
        for (const LinkId link : sending ? paths.way_up(rank) : paths.way_down(rank)) demands.cross(link, 1.0);
      }
      if (i + 1 < through.size() && std::get<0>(through[i + 1]) == attaching) continue;
      demands.end(attaching);
      last_piece = UINT32_MAX;
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
    // The ways of one end are not among the links that the other end was asked for.
    const double by_senders = sending.most_bps(link) > 0 ? sending.most_bps(link) : unbounded;
    const double by_receivers = receiving.most_bps(link) > 0 ? receiving.most_bps(link) : unbounded;
    demands.push_back({link, std::min(by_senders, by_receivers)});
  }
  return demands;
}

std::optional<JobFootprint> JobFootprint::find(const PlacedJob& job, const Topology& topology, const FlowSettings& settings,
                                               const HostSpeeds& speeds) {
  if (job.collectives->uses_switches()) return {};
  JobMessages sent(std::span(&job, 1), topology, settings, speeds, {});
  if (!sent.collect()) return {};
  JobFootprint footprint;
  footprint.links_ = demands_of(sent, topology);
  return footprint;
}

}  // namespace weft
