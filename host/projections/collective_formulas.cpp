// SPDX-License-Identifier: Apache-2.0
#include "host/projections/collective_formulas.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "core/check.hpp"

namespace weft {

namespace {

constexpr std::array all_formulas = {AllReduceFormula::ring, AllReduceFormula::hypercube, AllReduceFormula::bruck,
                                     AllReduceFormula::single_shot};

/// a and S b of `messages` messages that move `bytes` in all, and what else they take; a year at
/// most, so that times of absurd links can be added up.
Duration message_time(const AlphaBeta& link, double messages, double bytes, double further_s = 0) {
  const double seconds = messages * link.latency_s + bytes / link.bytes_per_s + further_s;
  return seconds < one_year.in_s() ? Duration::from_seconds(seconds) : one_year;
}

BestAllReduce best_of_alike(const AlphaBeta& link, Duration overhead, std::uint64_t ranks, Bytes size) {
  BestAllReduce best{AllReduceFormula::ring, Duration::max()};
  for (const AllReduceFormula formula : all_formulas) {
    const std::optional<Duration> time = all_reduce_time(formula, link, overhead, ranks, size);
    if (time && *time < best.time) best = {formula, *time};
  }
  return best;
}

}  // namespace

std::string_view to_text(AllReduceFormula formula) {
  constexpr std::array<std::string_view, all_formulas.size()> names = {"ring", "hypercube", "bruck", "single_shot"};
  return names.at(static_cast<std::size_t>(formula));
}

GroupSpread spread_of(PlanAxis axis, const ParallelPlan& plan, std::uint32_t gpus_per_node) {
  WEFT_CHECK(gpus_per_node > 0, "a node has a GPU");
  const std::uint64_t ranks = size_of(axis, plan);
  const std::uint64_t stride = std::max<std::uint64_t>(stride_of(axis, plan), 1);
  return {ranks, std::clamp<std::uint64_t>(gpus_per_node / stride, 1, std::max<std::uint64_t>(ranks, 1))};
}

std::optional<Duration> all_reduce_time(AllReduceFormula formula, const AlphaBeta& link, Duration message_overhead,
                                        std::uint64_t ranks, Bytes size) {
  if (ranks <= 1) return Duration::zero();
  const auto n = static_cast<double>(ranks);
  const auto bytes = static_cast<double>(size.count());
  // Both of two passes, scattered sums and their gathering, move (N - 1) / N of the data.
  const double in_parts = 2.0 * (n - 1.0) / n * bytes;
  const double whole = (n - 1.0) * bytes;
  const auto rounds = static_cast<double>(std::bit_width(ranks - 1));
  switch (formula) {
    case AllReduceFormula::ring:
      return message_time(link, 2.0 * (n - 1.0), in_parts);
    case AllReduceFormula::hypercube:
      if (!std::has_single_bit(ranks)) return std::nullopt;
      return message_time(link, 2.0 * rounds, in_parts);
    case AllReduceFormula::bruck:
      return message_time(link, rounds, whole);
    case AllReduceFormula::single_shot:
      return message_time(link, 1.0, whole, (n - 2.0) * message_overhead.in_s());
  }
  return std::nullopt;
}

BestAllReduce best_all_reduce(const HardwareConfig& hardware, const GroupSpread& group, Bytes size) {
  if (group.nodes() <= 1) return best_of_alike(hardware.inside_of_gpu(), hardware.message_overhead, group.ranks, size);
  const auto inside = static_cast<double>(group.ranks_per_node);
  const Bytes part = part_of(size, static_cast<std::uint32_t>(group.ranks_per_node), 0);
  BestAllReduce best = best_of_alike(hardware.between_of_gpu(), hardware.message_overhead, group.nodes(), part);
  if (group.ranks_per_node > 1) {
    best.time += message_time(hardware.inside_of_gpu(), 2.0 * (inside - 1.0),
                              2.0 * (inside - 1.0) / inside * static_cast<double>(size.count()));
  }
  return best;
}

Duration gather_time(const HardwareConfig& hardware, const GroupSpread& group, Bytes whole) {
  const auto among = [](const AlphaBeta& link, std::uint64_t ranks, double bytes) {
    const auto n = static_cast<double>(ranks);
    const double rounds = std::has_single_bit(ranks) ? static_cast<double>(std::bit_width(ranks - 1)) : n - 1.0;
    return message_time(link, rounds, (n - 1.0) / n * bytes);
  };
  if (group.ranks <= 1) return Duration::zero();
  const auto bytes = static_cast<double>(whole.count());
  if (group.nodes() <= 1) return among(hardware.inside_of_gpu(), group.ranks, bytes);
  const Duration between = among(hardware.between_of_gpu(), group.nodes(), bytes / static_cast<double>(group.ranks_per_node));
  return group.ranks_per_node == 1 ? between : between + among(hardware.inside_of_gpu(), group.ranks_per_node, bytes);
}

Duration all_to_all_time(const HardwareConfig& hardware, const GroupSpread& group, Bytes size) {
  if (group.ranks <= 1) return Duration::zero();
  const double each = static_cast<double>(size.count()) / static_cast<double>(group.ranks);
  const std::uint64_t own_node = std::min(group.ranks_per_node, group.ranks);
  const auto inside = static_cast<double>(own_node - 1);
  const auto between = static_cast<double>(group.ranks - own_node);
  return message_time(hardware.inside_of_gpu(), inside, inside * each) +
         message_time(hardware.between_of_gpu(), between, between * each);
}

Duration send_time(const HardwareConfig& hardware, bool between_nodes, Bytes size) {
  return message_time(between_nodes ? hardware.between_of_gpu() : hardware.inside_of_gpu(), 1.0, static_cast<double>(size.count()));
}

}  // namespace weft
