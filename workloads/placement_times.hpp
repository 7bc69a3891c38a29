// Placement times: how long one iteration of a job takes, by where its GPUs are, as measured.
//
// Where it sits: readers in workloads/measurements/ make them; in job mode a job with such a table runs for its iterations times the time of
// the placement it got (scheduler/job_lifecycle).
//
// Model: a placement is the number of GPUs on each of its hosts, in any order: "4+4", "2+1+1". A time is looked up by
//   1. the same placement: the mean of what was measured for it, in whatever order its hosts stood;
//   2. on several hosts, the time of the same number of GPUs spread in no stated way, if the table has one;
//   3. the mean of the placements with as many GPUs on as many hosts;
//   4. the mean of all placements with as many GPUs, several hosts preferred where the job has several.
// Nothing is interpolated between numbers of GPUs: knows() says whether there is any measurement.
// Thread safety: immutable once filled.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/units.hpp"

namespace weft {

class PlacementTimes {
 public:
  /// Requires: at least one host, none with 0 GPUs, a time that is not negative.
  void add(std::span<const std::uint32_t> gpus_of_hosts, Duration iteration);
  /// On several hosts, whichever way.
  void add_spread(std::uint32_t gpus, Duration iteration);

  bool knows(std::uint32_t gpus) const { return by_gpus_.find(gpus) != by_gpus_.end(); }
  /// Numbers of GPUs that were measured, ascending.
  std::vector<std::uint32_t> gpu_counts() const;
  /// Requires: knows() the sum of `gpus_of_hosts`.
  Duration of(std::span<const std::uint32_t> gpus_of_hosts) const;
  /// The time on the fewest hosts that were measured. Requires: knows(gpus).
  Duration packed(std::uint32_t gpus) const;
  /// The longest time of() returns for so many GPUs. Requires: knows(gpus).
  Duration longest(std::uint32_t gpus) const;
  std::size_t placement_count() const;

 private:
  /// A mean; added up in the order of the file.
  struct Mean {
    double sum_s = 0;
    std::uint64_t count = 0;
    void add(Duration value);
    Duration value() const;
  };
  using Shape = std::vector<std::uint32_t>;  ///< GPUs per host, descending
  struct OfGpus {
    std::map<Shape, Mean> exact;
    std::map<std::size_t, Mean> by_hosts;  ///< per number of hosts
    Mean spread;                           ///< none if it counts 0
    Mean several_hosts;
    Mean any;
    Duration longest;
  };

  std::map<std::uint32_t, OfGpus> by_gpus_;
};

}  // namespace weft
