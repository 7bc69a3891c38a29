// SPDX-License-Identifier: Apache-2.0
// Placement times: how long one iteration of a job takes, by where its GPUs are, as measured.
//
// Where it sits: readers in workloads/measurements/ make them; in job mode a job with such a table
// runs for its iterations times the time of the placement it got
// (scheduler/lifecycle/job_lifecycle).
//
// Model: a placement is the number of GPUs on each of its hosts, in any order: "4+4", "2+1+1". A
// time is looked up by
//   1. the same placement: the mean of what was measured for it, in whatever order its hosts stood;
//   2. on several hosts, the time of the same number of GPUs spread in no stated way, if the table
//      has one;
//   3. the mean of the placements with as many GPUs on as many hosts;
//   4. the mean of all placements with as many GPUs, several hosts preferred where the job has
//      several.
// Nothing is interpolated between numbers of GPUs: knows() says whether there is any measurement.
// find() says which of the four it was, so that a time that stands in for another can be called
// that.
// Thread safety: immutable once filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/values/units.hpp"

namespace weft {

class PlacementTimes {
 public:
  /// What a time was measured for.
  enum class Basis : std::uint8_t {
    same_placement,
    any_spread,     ///< several hosts, the placement on which is not stated
    as_many_hosts,  ///< other placements on as many hosts
    other_hosts,    ///< placements on other numbers of hosts
  };
  struct Found {
    Duration time;
    Basis basis = Basis::same_placement;
    // With Basis::other_hosts, on how many hosts the placements were; 0 where that is not stated.
    std::size_t hosts_min = 0;
    std::size_t hosts_max = 0;
  };

  /// Requires: at least one host, none with 0 GPUs, a time that is not negative.
  void add(std::span<const std::uint32_t> gpus_of_hosts, Duration iteration);
  /// On several hosts, whichever way.
  void add_spread(std::uint32_t gpus, Duration iteration);

  bool knows(std::uint32_t gpus) const { return by_gpus_.find(gpus) != by_gpus_.end(); }
  /// Numbers of GPUs that were measured, ascending.
  std::vector<std::uint32_t> gpu_counts() const;
  /// Requires: knows() the sum of `gpus_of_hosts`.
  Found find(std::span<const std::uint32_t> gpus_of_hosts) const;
  Duration of(std::span<const std::uint32_t> gpus_of_hosts) const { return find(gpus_of_hosts).time; }
  /// The time on the fewest hosts that were measured. Requires: knows(gpus).
  Duration packed(std::uint32_t gpus) const;
  /// The longest time of() returns for so many GPUs. Requires: knows(gpus).
  Duration longest(std::uint32_t gpus) const;
  /// Whether find() never has to take one placement for another. Requires: knows(gpus).
  bool covers_all(std::uint32_t gpus) const;
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
