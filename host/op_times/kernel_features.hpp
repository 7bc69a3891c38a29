// SPDX-License-Identifier: Apache-2.0
// Kernel features: what regressors see of a kernel, made of its sizes.
//
// Where it sits: between sampled_kernel, which knows sizes, and regressor.
// Model: `terms` are what time is made of to a first approximation, so that a law
// t = sum of c_i term_i with c_i >= 0 goes on beyond the sampled sizes: a launch (1), operations,
// bytes moved, rows. `features` are what makes a kernel depart from that law: logarithms (base 2)
// of sizes and of their products, powers of two in sizes (alignment), tiles of 128 and 256 rows and
// what the last wave of them over 108 or 132 multiprocessors (A100; H100, H200 and GH200) fills,
// into how many launches rows are cut.
// The features of a kind are part of the profile's version: trees name them by number.
// Threads: pure functions.
#pragma once

#include <span>
#include <vector>

#include "host/op_times/sampled_kernel.hpp"

namespace weft {

struct KernelFeatures {
  std::vector<double> terms;    ///< all above 0
  std::vector<float> features;  ///< all finite
};

/// Requires: sizes of the kind, all above 0.
KernelFeatures kernel_features(KernelKind kind, std::span<const double> sizes, double element_bytes);

/// How many there are: terms and features.
std::size_t term_count(KernelKind kind, std::size_t sizes);
std::size_t feature_count(KernelKind kind, std::size_t sizes);

}  // namespace weft
