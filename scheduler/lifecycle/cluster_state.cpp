// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/cluster_state.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/check.hpp"

namespace weft {
namespace {

std::vector<std::uint32_t> endpoints_per_host(const Topology& topology) {
  std::vector<std::uint32_t> result(topology.host_count());
  for (std::uint32_t host = 0; host < result.size(); ++host) {
    result[host] = static_cast<std::uint32_t>(topology.endpoints_of(HostId(host)).size());
  }
  return result;
}

/// "0-3" or "5".
void append_range(std::string& out, std::uint32_t first, std::uint32_t last) {
  out += fmt::to_string(first);
  if (last != first) {
    out += '-';
    out += fmt::to_string(last);
  }
}

}  // namespace

ClusterState::ClusterState(std::span<const std::uint32_t> gpus_of_host)
    : begin_(1, 0), free_of_host_(gpus_of_host.begin(), gpus_of_host.end()) {
  WEFT_CHECK(!gpus_of_host.empty(), "a cluster has hosts");
  begin_.reserve(gpus_of_host.size() + 1);
  for (const std::uint32_t gpus : gpus_of_host) {
    WEFT_CHECK(gpus > 0, "every host of a cluster has GPUs");
    WEFT_CHECK(gpus < UINT32_MAX - begin_.back(), "a cluster's GPUs can be counted in 32 bits");
    begin_.push_back(begin_.back() + gpus);
    host_gpus_max_ = std::max(host_gpus_max_, gpus);
  }
  free_gpus_ = begin_.back();
  wholly_free_gpus_ = free_gpus_;
  holder_.assign(free_gpus_, JobId::none());
  in_service_.assign(free_gpus_, true);
  in_service_gpus_ = free_gpus_;
  host_of_.reserve(free_gpus_);
  for (std::uint32_t host = 0; host < gpus_of_host.size(); ++host)
    host_of_.insert(host_of_.end(), gpus_of_host[host], HostId(host));

  held_of_host_.assign(host_count(), 0);
  tree_leaves_ = std::bit_ceil(host_count());
  free_tree_.assign(std::size_t{2} * tree_leaves_, 0);
  untouched_tree_.assign(std::size_t{2} * tree_leaves_, 0);
  for (std::uint32_t host = 0; host < host_count(); ++host) {
    free_tree_[tree_leaves_ + host] = free_of_host_[host];
    untouched_tree_[tree_leaves_ + host] = 1;
  }
  for (std::uint32_t at = tree_leaves_ - 1; at > 0; --at) {
    free_tree_[at] = std::max(free_tree_[2 * at], free_tree_[2 * at + 1]);
    untouched_tree_[at] = std::max(untouched_tree_[2 * at], untouched_tree_[2 * at + 1]);
  }
}

ClusterState::ClusterState(const Topology& topology) : ClusterState(endpoints_per_host(topology)) {}

ClusterState::ClusterState(std::uint32_t hosts, std::uint32_t gpus_per_host)
    : ClusterState(std::vector<std::uint32_t>(hosts, gpus_per_host)) {}

void ClusterState::update_tree(std::uint32_t host) {
  std::uint32_t at = tree_leaves_ + host;
  free_tree_[at] = free_of_host_[host];
  wholly_free_gpus_ -= untouched_tree_[at] * gpu_count(HostId(host));
  untouched_tree_[at] = is_wholly_free(HostId(host)) ? 1 : 0;
  wholly_free_gpus_ += untouched_tree_[at] * gpu_count(HostId(host));
  for (at /= 2; at > 0; at /= 2) {
    free_tree_[at] = std::max(free_tree_[2 * at], free_tree_[2 * at + 1]);
    untouched_tree_[at] = std::max(untouched_tree_[2 * at], untouched_tree_[2 * at + 1]);
  }
}

std::uint32_t ClusterState::first_at_least(const std::vector<std::uint32_t>& tree, std::uint32_t value, std::uint32_t from) const {
  if (from >= host_count()) return UINT32_MAX;
  // Climb to the first subtree right of (or at) `from` that holds such a host, then descend to its
  // leftmost one.
  std::uint32_t at = tree_leaves_ + from;
  while (tree[at] < value) {
    // a right child, or the root's climb: its right neighbour belongs to an ancestor
    while (at & 1U) at /= 2;
    if (at == 0) return UINT32_MAX;
    ++at;
  }
  while (at < tree_leaves_) {
    at *= 2;
    if (tree[at] < value) ++at;
  }
  return at - tree_leaves_;
}

HostId ClusterState::first_host_with(std::uint32_t gpus, HostId from) const {
  WEFT_CHECK(gpus > 0, "room is asked for at least one GPU");
  return HostId(first_at_least(free_tree_, gpus, from.index()));
}

HostId ClusterState::first_wholly_free_host(HostId from) const { return HostId(first_at_least(untouched_tree_, 1, from.index())); }

std::uint32_t ClusterState::gpus_in_service(HostId host) const {
  const auto of_host = in_service_.begin() + begin_[host.index()];
  return static_cast<std::uint32_t>(std::count(of_host, of_host + gpu_count(host), true));
}

std::vector<GpuSlot> ClusterState::gpus(HostId host) const {
  std::vector<GpuSlot> gpus;
  for (std::uint32_t slot = begin_[host.index()]; slot < begin_[host.index() + 1]; ++slot) gpus.emplace_back(slot);
  return gpus;
}

void ClusterState::append_free(HostId host, std::uint32_t gpus, std::vector<GpuSlot>& out) const {
  WEFT_CHECK(free_gpus(host) >= gpus, "the host has as many free GPUs as are asked for");
  for (std::uint32_t slot = begin_[host.index()]; gpus > 0; ++slot) {
    if (!is_free(slot)) continue;
    out.emplace_back(slot);
    --gpus;
  }
}

void ClusterState::take(JobId job, const Placement& placement) {
  WEFT_CHECK(!job.is_none(), "GPUs are taken for a job");
  for (std::size_t i = 0; i < placement.gpus.size(); ++i) {
    const GpuSlot gpu = placement.gpus[i];
    WEFT_CHECK(gpu.index() < gpu_count(), "a placement names GPUs of the cluster");
    WEFT_CHECK(holder(gpu).is_none(), "no GPU is booked twice");
    holder_[gpu.index()] = job;
    ++held_gpus_;
    ++held_of_host_[host_of(gpu).index()];
    if (is_in_service(gpu)) {
      --free_of_host_[host_of(gpu).index()];
      --free_gpus_;
    }
    const bool last_of_host = i + 1 == placement.gpus.size() || host_of(placement.gpus[i + 1]) != host_of(gpu);
    if (last_of_host) update_tree(host_of(gpu).index());
  }
}

void ClusterState::release(JobId job, const Placement& placement) {
  for (std::size_t i = 0; i < placement.gpus.size(); ++i) {
    const GpuSlot gpu = placement.gpus[i];
    WEFT_CHECK(gpu.index() < gpu_count(), "a placement names GPUs of the cluster");
    WEFT_CHECK(!job.is_none() && holder(gpu) == job, "a job releases only GPUs that it holds");
    holder_[gpu.index()] = JobId::none();
    --held_gpus_;
    --held_of_host_[host_of(gpu).index()];
    if (is_in_service(gpu)) {
      ++free_of_host_[host_of(gpu).index()];
      ++free_gpus_;
    }
    const bool last_of_host = i + 1 == placement.gpus.size() || host_of(placement.gpus[i + 1]) != host_of(gpu);
    if (last_of_host) update_tree(host_of(gpu).index());
  }
}

void ClusterState::withdraw(std::span<const GpuSlot> gpus) {
  if (gpus.empty()) return;
  for (const GpuSlot gpu : gpus) {
    WEFT_CHECK(is_in_service(gpu) && host_of(gpu) == host_of(gpus.front()), "GPUs of one host go out of service once");
    if (is_free(gpu.index())) {
      --free_of_host_[host_of(gpu).index()];
      --free_gpus_;
    }
    in_service_[gpu.index()] = false;
    --in_service_gpus_;
  }
  update_tree(host_of(gpus.front()).index());
}

void ClusterState::restore(std::span<const GpuSlot> gpus) {
  if (gpus.empty()) return;
  for (const GpuSlot gpu : gpus) {
    WEFT_CHECK(!is_in_service(gpu) && host_of(gpu) == host_of(gpus.front()), "GPUs of one host come back into service once");
    in_service_[gpu.index()] = true;
    ++in_service_gpus_;
    if (!holder(gpu).is_none()) continue;
    ++free_of_host_[host_of(gpu).index()];
    ++free_gpus_;
  }
  update_tree(host_of(gpus.front()).index());
}

std::string ClusterState::to_text(const Placement& placement) const {
  std::vector<GpuSlot> sorted = placement.gpus;
  std::sort(sorted.begin(), sorted.end());

  // Per host the text of its GPUs; neighbouring hosts with the same text become one entry.
  std::string result;
  std::uint32_t first_host = 0;
  std::uint32_t last_host = 0;
  std::string pending;
  const auto flush = [&] {
    if (pending.empty()) return;
    if (!result.empty()) result += ',';
    result += "host";
    append_range(result, first_host, last_host);
    result += ':';
    result += pending;
  };
  std::string gpus_text;
  for (std::size_t i = 0; i < sorted.size();) {
    const HostId host = host_of(sorted[i]);
    gpus_text.clear();
    while (i < sorted.size() && host_of(sorted[i]) == host) {
      std::size_t end = i + 1;
      while (end < sorted.size() && host_of(sorted[end]) == host && sorted[end].index() == sorted[end - 1].index() + 1) ++end;
      if (!gpus_text.empty()) gpus_text += '+';
      append_range(gpus_text, local_index(sorted[i]), local_index(sorted[end - 1]));
      i = end;
    }
    if (gpus_text == pending && host.index() == last_host + 1) {
      last_host = host.index();
      continue;
    }
    flush();
    first_host = last_host = host.index();
    pending = gpus_text;
  }
  flush();
  return result;
}

}  // namespace weft
