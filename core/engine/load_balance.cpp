// SPDX-License-Identifier: Apache-2.0
#include "core/engine/load_balance.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace weft {

std::vector<std::uint32_t> deal_in_blocks(std::span<const std::uint64_t> weight, std::uint32_t worker_count) {
  const std::uint64_t total = std::accumulate(weight.begin(), weight.end(), std::uint64_t{0});
  std::vector<std::uint32_t> worker_of_process;
  worker_of_process.reserve(weight.size());
  std::uint64_t before = 0;
  for (const std::uint64_t w : weight) {
    // The worker in whose share of the total the middle of this process lies.
    const double middle = static_cast<double>(before) + static_cast<double>(w) / 2;
    const auto worker = static_cast<std::uint32_t>(middle * worker_count / static_cast<double>(total));
    worker_of_process.push_back(std::min(worker, worker_count - 1));
    before += w;
  }
  return worker_of_process;
}

std::vector<std::uint32_t> deal_by_load(std::span<const std::uint64_t> load, std::uint32_t worker_count) {
  std::vector<std::uint32_t> order(load.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return load[a] > load[b]; });
  using Worker = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Worker, std::vector<Worker>, std::greater<>> least_loaded;
  for (std::uint32_t worker = 0; worker < worker_count; ++worker) least_loaded.push({0, worker});
  std::vector<std::uint32_t> worker_of_process(load.size(), 0);
  for (const std::uint32_t process : order) {
    auto [sum, worker] = least_loaded.top();
    least_loaded.pop();
    worker_of_process[process] = worker;
    // A process that was idle counts a little, so that idle ones are spread as well: they may wake
    // up together.
    least_loaded.push({sum + std::max<std::uint64_t>(load[process], 1), worker});
  }
  return worker_of_process;
}

double imbalance(std::span<const std::uint64_t> load, std::span<const std::uint32_t> worker_of_process,
                 std::uint32_t worker_count) {
  std::vector<std::uint64_t> sums(worker_count, 0);
  for (std::size_t process = 0; process < load.size(); ++process) sums[worker_of_process[process]] += load[process];
  const std::uint64_t total = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  if (total == 0) return 0;
  const std::uint64_t largest = *std::max_element(sums.begin(), sums.end());
  return static_cast<double>(largest) * worker_count / static_cast<double>(total) - 1;
}

}  // namespace weft
