// SPDX-License-Identifier: Apache-2.0
// Cluster state: which GPU is held by which job, and which are in service.
//
// Where it sits: JobLifecycle owns the one of the run and is the only one to change it; placements
// and policies read it to decide.
//
// Model: hosts with a number of GPUs each (they may differ), from a topology's endpoints or as
// plain "hosts x GPUs". A GPU is a slot: a dense number, host by host, equal to the GPU's index in
// Topology::endpoints(). A maximum tree over the hosts answers "the first host with room for n" in
// logarithmic time, so that a blocked queue costs little on large clusters. A GPU may be out of
// service, because it has failed or its host is a spare; one that is held then stays with its job,
// and is not free afterwards.
//
// Invariants
//   1. A GPU has at most one holder. Taking one that is held or releasing one for a job that does
//      not hold it is a WEFT_CHECK failure.
//   2. free_gpus() and free_gpus(host) always equal the number of slots in service without a
//      holder.
// Thread safety: belongs to the scheduler's logical process; a value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/values/ids.hpp"
#include "topologies/topology.hpp"

namespace weft {

using GpuSlot = Id<struct GpuSlotTag>;  ///< a GPU of the cluster, host by host

/// The GPUs of a job: rank r runs on gpus[r]. All distinct.
struct Placement {
  std::vector<GpuSlot> gpus;

  friend bool operator==(const Placement&, const Placement&) = default;
};

class ClusterState {
 public:
  /// One entry per host, each > 0.
  explicit ClusterState(std::span<const std::uint32_t> gpus_of_host);
  /// The endpoints of a topology.
  explicit ClusterState(const Topology& topology);
  /// `hosts` alike.
  ClusterState(std::uint32_t hosts, std::uint32_t gpus_per_host);

  std::uint32_t host_count() const { return static_cast<std::uint32_t>(free_of_host_.size()); }
  std::uint32_t gpu_count() const { return static_cast<std::uint32_t>(holder_.size()); }
  std::uint32_t gpu_count(HostId host) const { return begin_[host.index() + 1] - begin_[host.index()]; }
  /// GPUs of the largest host.
  std::uint32_t host_gpus_max() const { return host_gpus_max_; }
  std::uint32_t free_gpus() const { return free_gpus_; }
  std::uint32_t held_gpus() const { return held_gpus_; }
  std::uint32_t held_gpus(HostId host) const { return held_of_host_[host.index()]; }
  std::uint32_t free_gpus(HostId host) const { return free_of_host_[host.index()]; }
  std::uint32_t gpus_in_service() const { return in_service_gpus_; }
  std::uint32_t gpus_in_service(HostId host) const;
  bool is_in_service(GpuSlot gpu) const { return in_service_[gpu.index()]; }
  /// Free ones on hosts that have others which are held or out of service: what jobs of whole hosts
  /// cannot use.
  std::uint32_t fragmented_gpus() const { return free_gpus_ - wholly_free_gpus_; }
  bool is_wholly_free(HostId host) const { return free_gpus(host) == gpu_count(host); }

  HostId host_of(GpuSlot gpu) const { return host_of_[gpu.index()]; }
  /// Number of a GPU inside its host.
  std::uint32_t local_index(GpuSlot gpu) const { return gpu.index() - begin_[host_of(gpu).index()]; }
  GpuSlot slot(HostId host, std::uint32_t local) const { return GpuSlot(begin_[host.index()] + local); }
  /// All GPUs of a host.
  std::vector<GpuSlot> gpus(HostId host) const;
  /// Who holds a GPU; none() if nobody does.
  JobId holder(GpuSlot gpu) const { return holder_[gpu.index()]; }

  /// First host at or after `from` with at least `gpus` free; none() if there is none. Requires:
  /// gpus > 0.
  HostId first_host_with(std::uint32_t gpus, HostId from = HostId(0)) const;
  /// First host at or after `from` on which nothing runs and which is wholly in service; none() if
  /// there is none.
  HostId first_wholly_free_host(HostId from = HostId(0)) const;
  /// Appends the first `gpus` free GPUs of a host. Requires: it has as many.
  void append_free(HostId host, std::uint32_t gpus, std::vector<GpuSlot>& out) const;

  void take(JobId job, const Placement& placement);
  void release(JobId job, const Placement& placement);
  /// Takes GPUs out of service, or puts them into it again. Requires: they are not yet, and of one
  /// host.
  void withdraw(std::span<const GpuSlot> gpus);
  void restore(std::span<const GpuSlot> gpus);

  /// Compact text: "host0:0-7,host1:0-3"; neighbouring hosts with the same GPUs are joined,
  /// "host0-3:0-7", and gaps inside a host are written "host5:0+2-3".
  std::string to_text(const Placement& placement) const;

 private:
  bool is_free(std::uint32_t slot) const { return holder_[slot].is_none() && in_service_[slot]; }
  void update_tree(std::uint32_t host);
  std::uint32_t first_at_least(const std::vector<std::uint32_t>& tree, std::uint32_t value, std::uint32_t from) const;

  std::vector<std::uint32_t> begin_;  ///< first slot per host, one more at the end
  std::vector<HostId> host_of_;       ///< per slot
  std::vector<JobId> holder_;         ///< per slot
  std::vector<bool> in_service_;      ///< per slot
  std::uint32_t in_service_gpus_ = 0;
  std::vector<std::uint32_t> free_of_host_;
  std::vector<std::uint32_t> held_of_host_;
  std::uint32_t free_gpus_ = 0;
  std::uint32_t held_gpus_ = 0;
  std::uint32_t wholly_free_gpus_ = 0;  ///< on hosts where nothing runs
  std::uint32_t host_gpus_max_ = 0;
  std::uint32_t tree_leaves_ = 1;  ///< a power of two >= host_count()
  /// maximum tree over free GPUs per host; leaves begin at tree_leaves_
  std::vector<std::uint32_t> free_tree_;
  std::vector<std::uint32_t> untouched_tree_;  ///< likewise over "1 if wholly free"
};

}  // namespace weft
