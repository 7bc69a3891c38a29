// SPDX-License-Identifier: Apache-2.0
// Distribution: percentiles of a long series in bounded memory.
//
// Where it sits: summaries of runs, whose transfers may be hundreds of millions.
//
// Model: up to a limit different values are kept as they are. Beyond that values are counted in
// buckets of a relative width of 2^-10, each value by its exponent and the first bits of its
// mantissa, as in HdrHistogram (Tene 2012); a percentile is then off by less than 0.1 %. Results do
// not depend on the order of the values.
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace weft {

class Distribution {
 public:
  static constexpr std::size_t exact_max_default = std::size_t{1} << 20;

  /// `exact_max`: different values that are kept as they are.
  explicit Distribution(std::size_t exact_max) : exact_max_(exact_max) {}
  Distribution() = default;

  /// `times`: how often the value occurs. Requires: it is finite (WEFT_CHECK).
  void add(double value, std::uint64_t times = 1);

  std::uint64_t count() const { return count_; }
  double max() const { return max_; }
  /// The value below which `percent` per cent lie, interpolated between neighbours: rank
  /// percent/100 x (n - 1) of the sorted values counted from 0 (Hyndman and Fan 1996, type 7). 0 if
  /// there is no value. Requires: 0 <= percent <= 100 (WEFT_CHECK).
  double percentile(double percent) const;
  /// Whether percentiles are those of the values themselves.
  bool is_exact() const {
    decide();
    return buckets_.empty();
  }

 private:
  /// Values that differ are sorted, and counted in buckets if there are too many of them.
  void decide() const;
  void sort() const;
  void add_to_bucket(double value, std::uint64_t times) const;

  std::size_t exact_max_ = exact_max_default;
  std::uint64_t count_ = 0;
  double min_ = 0;
  double max_ = 0;
  mutable std::vector<std::pair<double, std::uint64_t>> exact_;  ///< value, times
  /// exact_ is, and has each value once.
  mutable bool is_sorted_ = true;
  mutable std::map<std::uint64_t, std::uint64_t> buckets_;  ///< by bucket, in order of value
};

}  // namespace weft
