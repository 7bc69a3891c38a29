// SPDX-License-Identifier: Apache-2.0
// Fingerprint: 64 bits that two runs share only if they did the same things.
//
// Each entity mixes the events it handles, in its own order, into its own chain; the fingerprint of
// a run combines the chains in entity order. It therefore depends neither on threads nor on how
// entities are dealt to logical processes.
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// Bijective 64-bit mixing (the finaliser of SplitMix64, Steele et al. 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// A hash of two words in this order.
constexpr std::uint64_t combined_hash(std::uint64_t a, std::uint64_t b) { return mix64(a * 0x9e3779b97f4a7c15ULL ^ mix64(b)); }

/// Spreads 64 mixed bits evenly over 0 to n - 1. Requires: n > 0.
constexpr std::size_t spread(std::uint64_t mixed, std::size_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((Wide{mixed} * n) >> 64);
}

class Fingerprint {
 public:
  constexpr void add(std::uint64_t word) { state_ = mix64(state_ ^ word) + 0x9e3779b97f4a7c15ULL; }
  void add(std::string_view text);
  constexpr std::uint64_t value() const { return state_; }
  /// Sixteen hexadecimal digits.
  std::string to_text() const;

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3ULL;
};

}  // namespace weft
