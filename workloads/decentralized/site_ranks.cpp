// SPDX-License-Identifier: Apache-2.0
#include "workloads/decentralized/site_ranks.hpp"

#include <algorithm>
#include <cmath>

#include "core/values/random.hpp"

namespace weft {

namespace {

constexpr std::uint32_t speed_draw = 1;
constexpr std::uint32_t presence_draw = 2;

}  // namespace

SiteRanks::SiteRanks(const SiteTrainingSettings& settings) : rounds_(settings.outer_steps) {
  const bool is_star = settings.exchange == SiteExchange::star;
  switch (settings.method) {
    case SiteMethod::diloco:
    case SiteMethod::asynchronous:
      region_size_ = settings.nodes;
      has_server_ = is_star;
      break;
    case SiteMethod::hierarchical:
      region_size_ = settings.group;
      regions_ = settings.nodes / settings.group;
      has_region_servers_ = settings.regional_exchange == SiteExchange::star;
      has_server_ = is_star;
      regional_rounds_ = settings.regional_steps;
      rounds_ *= settings.regional_steps;
      break;
    case SiteMethod::pipeline_groups:
      region_size_ = settings.stages;
      regions_ = settings.nodes / settings.stages;
      has_server_ = is_star;
      leave_together_ = true;
      break;
    case SiteMethod::pipeline:
      region_size_ = settings.stages;
      break;
  }
  const bool gossips = settings.exchange == SiteExchange::gossip && settings.method != SiteMethod::pipeline;
  are_alike_ = !gossips && settings.speed_spread == 0 && settings.leave_probability == 0;
  if (settings.speed_spread > 0) draw_speeds(settings);
  if (settings.leave_probability > 0) draw_presence(settings);
}

void SiteRanks::draw_speeds(const SiteTrainingSettings& settings) {
  const double variance = std::log1p(settings.speed_spread * settings.speed_spread);
  fastest_ = 0;
  for (std::uint32_t node = 0; node < regions_ * region_size_; ++node) {
    speeds_.push_back(RandomStream(settings.seed, node, speed_draw).lognormal(-variance / 2, std::sqrt(variance)));
    fastest_ = std::max(fastest_, speeds_.back());
  }
}

void SiteRanks::draw_presence(const SiteTrainingSettings& settings) {
  const std::size_t units = leave_together_ ? regions_ : std::size_t{regions_} * region_size_;
  there_.assign(units, std::vector<bool>(rounds_, true));
  for (std::size_t i = 0; i < units; ++i) {
    const bool stays = leave_together_ ? i == 0 : i % region_size_ == 0;
    if (stays) continue;
    RandomStream stream(settings.seed, static_cast<std::uint32_t>(i), presence_draw);
    for (std::uint32_t round = 1; round < rounds_; ++round) {
      if (stream.uniform() >= settings.leave_probability) continue;
      ++departures_;
      const std::uint32_t back =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(rounds_, std::uint64_t{round} + settings.away_steps));
      for (; round < back; ++round) there_[i][round] = false;
      // In the round in which it is back it does not leave again.
    }
  }
}

}  // namespace weft
