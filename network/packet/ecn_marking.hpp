// SPDX-License-Identifier: Apache-2.0
// ECN marking: which packets a switch marks, by the length of the queue that they join (RED as
// DCQCN uses it).
//
// Model: mark with probability 0 up to Kmin, rising to Pmax at Kmax, 1 above (Zhu et al.,
// "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, figure 5; Floyd and
// Jacobson, "Random Early Detection Gateways", 1993, on the queue of the instant). Each port draws
// from a stream of its own, one number per packet that finds its queue between Kmin and Kmax.
// Threads: values.
#pragma once

#include <cstdint>

#include "core/values/fingerprint.hpp"

namespace weft {

struct EcnCurve {
  std::int64_t queue_min = 0;  ///< Kmin, bytes
  std::int64_t queue_max = 0;  ///< Kmax, bytes, >= queue_min
  double probability_max = 0;  ///< Pmax

  double probability(std::int64_t queue) const {
    if (queue <= queue_min) return 0;
    if (queue > queue_max) return 1;
    return probability_max * static_cast<double>(queue - queue_min) / static_cast<double>(queue_max - queue_min);
  }
};

/// A port's decisions.
class EcnMarker {
 public:
  EcnMarker(const EcnCurve& curve, std::uint64_t stream) : curve_(curve), stream_(mix64(stream)) {}

  /// A packet joins a queue of so many bytes, itself not counted.
  bool marks(std::int64_t queue) {
    if (queue <= curve_.queue_min) return false;
    if (queue > curve_.queue_max) return true;
    const double drawn = static_cast<double>(mix64(stream_ + ++draws_ * 0x9e3779b97f4a7c15ULL) >> 11) * 0x1p-53;
    return drawn < curve_.probability(queue);
  }

 private:
  EcnCurve curve_;
  std::uint64_t stream_;
  std::uint64_t draws_ = 0;
};

}  // namespace weft
