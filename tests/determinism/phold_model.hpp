// SPDX-License-Identifier: Apache-2.0
// PHOLD (Fujimoto 1990): the customary load of event kernels, used by the determinism tests and by
// bench/phold.
//
// Every entity starts with some jobs. Handling a job draws where it goes next and how long that
// takes: with probability `remote_share` to any other entity, otherwise back to the same one, after
// the minimum delay plus an exponential delay. The number of jobs never changes. Draws come from
// the entity's own stream, so that the run is a function of the seed alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/engine/engine.hpp"
#include "core/values/random.hpp"

namespace weft::phold {

struct Config {
  std::uint32_t entities = 64;
  std::uint32_t jobs_per_entity = 4;
  Duration min_delay = Duration::ns(100);
  Duration mean_extra_delay = Duration::ns(900);
  double remote_share = 0.5;
  std::uint64_t seed = 1;
};

class Node final : public Entity {
 public:
  Node(const Config& config, std::uint32_t index) : config_(config), index_(index), random_(config.seed, index, 0) {}

  void handle(const Event& event, EventContext& context) override {
    ++handled_;
    const auto hops = event.payload_as<std::uint64_t>();
    const double extra_ticks = random_.exponential(static_cast<double>(config_.mean_extra_delay.in_ticks()));
    const Duration delay = config_.min_delay + Duration::ticks(static_cast<std::int64_t>(extra_ticks));
    if (config_.entities > 1 && random_.uniform() < config_.remote_share) {
      const auto step = static_cast<std::uint32_t>(1 + random_.below(config_.entities - 1));
      context.send(EntityId((index_ + step) % config_.entities), delay, 0, hops + 1);
    } else {
      context.schedule(delay, EventClass::timer, 0, hops + 1);
    }
  }

  std::uint64_t handled() const { return handled_; }

 private:
  Config config_;
  std::uint32_t index_;
  RandomStream random_;
  std::uint64_t handled_ = 0;
};

/// `neighbour_delay`, if not zero, is declared between entities 2i and 2i+1, so that a zeta between
/// it and min_delay pairs them up. Requires: neighbour_delay <= min_delay.
inline EngineBuilder make(const Config& config, Duration neighbour_delay = Duration::zero()) {
  EngineBuilder builder;
  for (std::uint32_t i = 0; i < config.entities; ++i) {
    builder.add_entity(std::make_unique<Node>(config, i), "node" + std::to_string(i));
  }
  builder.connect_all(config.min_delay);
  if (neighbour_delay > Duration::zero()) {
    for (std::uint32_t i = 0; i + 1 < config.entities; i += 2) builder.connect_both(EntityId(i), EntityId(i + 1), neighbour_delay);
  }
  RandomStream starts(config.seed, UINT32_MAX, 0);
  for (std::uint32_t i = 0; i < config.entities; ++i) {
    for (std::uint32_t job = 0; job < config.jobs_per_entity; ++job) {
      const double ticks = starts.exponential(static_cast<double>(config.mean_extra_delay.in_ticks()));
      builder.post_initial(EntityId(i), Time::at_ticks(static_cast<std::int64_t>(ticks)), EventClass::timer, 0, std::uint64_t{0});
    }
  }
  return builder;
}

}  // namespace weft::phold
