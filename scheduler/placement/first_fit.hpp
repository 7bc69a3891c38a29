// First fit: hosts in order, the first with room.
//
// Where it sits: the default Placer.
//
// Model
//   - A job that fits into one host (no more GPUs than the largest host has) takes the first host with as many free.
//   - A larger job takes wholly free hosts in order, as long as they are not larger than what is still missing, and the rest from the
//     first other host with room for it.
//   - On an empty cluster a job with no more GPUs than the cluster always finds a place: a host passed over has room for the rest.
//   - `scatter`: any free GPUs, host by host, whatever the job's size.
//   Inside a host the GPUs with the smallest numbers are taken.
// Thread safety: immutable.
#pragma once

#include "scheduler/placement/placer.hpp"

namespace weft {

class FirstFit final : public Placer {
 public:
  explicit FirstFit(bool scatter = false) : scatter_(scatter) {}
  std::optional<Placement> place(const ClusterState& cluster, std::uint32_t gpus) const override;

 private:
  bool scatter_;
};

Module<PlacerFactory> first_fit_module();

}  // namespace weft
