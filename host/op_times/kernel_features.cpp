// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/kernel_features.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "core/check.hpp"
#include "core/values/random.hpp"

namespace weft {

namespace {

/// Base 2, the same on every platform.
double log_of(double x) {
  constexpr double log_of_2 = 0.693147180559945309417;
  return portable_log(x) / log_of_2;
}

/// How often 2 divides a size, as far as it matters to vector loads and tiles.
double alignment(double size) {
  constexpr int most = 9;
  constexpr double whole_max = 9e15;
  if (size > whole_max) return most;
  return std::min(most, std::countr_zero(static_cast<std::uint64_t>(size)));
}

/// Of the last wave of tiles, the share of multiprocessors that have one.
double last_wave(double tiles, double multiprocessors) { return std::fmod(tiles, multiprocessors) / multiprocessors; }

class FeatureList {
 public:
  void add(double value) { values_.push_back(static_cast<float>(value)); }
  void add_log(double value) { add(log_of(value)); }
  std::vector<float> take() { return std::move(values_); }

 private:
  std::vector<float> values_;
};

constexpr double multiprocessors_of_a100 = 108;
constexpr double multiprocessors_of_h100 = 132;
constexpr double tile = 128;
constexpr double long_tile = 256;

KernelFeatures matmul_features(std::span<const double> sizes, double bytes_each) {
  const double m = sizes[0];
  const double n = sizes[1];
  const double k = sizes[2];
  const double groups = sizes[3];
  const double operations = 2 * m * n * k * groups;
  const double bytes = bytes_each * groups * (m * k + k * n + m * n);
  const double tiles = std::ceil(m / tile) * std::ceil(n / tile) * groups;
  const double long_tiles = std::ceil(m / long_tile) * std::ceil(n / tile) * groups;
  FeatureList list;
  for (const double size : {m, n, k, groups, operations, bytes, tiles}) list.add_log(size);
  for (const double size : {m, n, k}) list.add(alignment(size));
  for (const double multiprocessors : {multiprocessors_of_a100, multiprocessors_of_h100}) {
    list.add(last_wave(tiles, multiprocessors));
    list.add(last_wave(long_tiles, multiprocessors));
  }
  list.add(m * n * groups / (tiles * tile * tile));
  return {{1, operations, bytes}, list.take()};
}

KernelFeatures grouped_matmul_features(std::span<const double> sizes, double bytes_each) {
  const double m = sizes[0];
  const double most = sizes[1];
  const double n = sizes[2];
  const double k = sizes[3];
  const double groups = sizes[4];
  const double operations = 2 * m * n * k;
  const double bytes = bytes_each * (m * k + groups * k * n + m * n);
  // The largest group, and the others as if they were alike.
  const double others = std::max(groups - 1, 0.0);
  const double rest = others > 0 ? std::max(m - most, 0.0) / others : 0.0;
  const double tiles = (std::ceil(most / tile) + others * std::ceil(rest / tile)) * std::ceil(n / tile);
  FeatureList list;
  for (const double size : {m, most, m / groups, n, k, groups, operations, bytes, tiles}) list.add_log(size);
  list.add(most * groups / m);
  for (const double size : {n, k}) list.add(alignment(size));
  for (const double multiprocessors : {multiprocessors_of_a100, multiprocessors_of_h100})
    list.add(last_wave(tiles, multiprocessors));
  return {{1, operations, bytes, tiles}, list.take()};
}

KernelFeatures attention_features(std::span<const double> sizes, double bytes_each) {
  const double sequences = sizes[0];
  const double heads = sizes[1];
  const double length = sizes[2];
  const double width = sizes[3];
  // Kernels are compiled for widths of 32 and its doubles.
  double compiled_width = 32;
  while (compiled_width < width) compiled_width *= 2;
  const double scores = sequences * heads * length * length;
  const double bytes = 4 * bytes_each * sequences * heads * length * width;
  const double blocks = sequences * heads * std::ceil(length / tile);
  FeatureList list;
  for (const double size : {sequences, heads, sequences * heads, length, width, scores * width, bytes, blocks, compiled_width})
    list.add_log(size);
  list.add(width);
  list.add(alignment(width));
  for (const double multiprocessors : {multiprocessors_of_a100, multiprocessors_of_h100})
    list.add(last_wave(blocks, multiprocessors));
  return {{1, 4 * scores * width, 4 * scores * compiled_width, scores, bytes}, list.take()};
}

/// Into how many launches PyTorch cuts element-wise work: it is halved until the last byte's offset
/// fits into 32 bits with a sign (TensorIteratorBase::can_use_32bit_indexing).
double launches(double elements, double bytes_each) {
  constexpr double offset_max = 2147483647.0;
  double parts = 1;
  while ((elements / parts - 1) * bytes_each + 1 > offset_max) parts *= 2;
  return parts;
}

KernelFeatures row_features(std::span<const double> sizes, double bytes_each) {
  constexpr double block = 1024;
  const double rows = sizes[0];
  const double width = sizes[1];
  FeatureList list;
  for (const double size : {rows, width, rows * width}) list.add_log(size);
  list.add_log(launches(rows * width, bytes_each));
  list.add(width);
  list.add(alignment(rows));
  list.add(alignment(width));
  list.add(std::fmod(width, block));
  return {{1, rows * width, rows}, list.take()};
}

KernelFeatures rotary_features(std::span<const double> sizes) {
  const double tokens = sizes[0] * sizes[1];
  const double heads = sizes[2];
  const double width = sizes[3];
  FeatureList list;
  for (const double size : {sizes[0], sizes[1], tokens, heads, width, heads * width, tokens * heads, tokens * heads * width})
    list.add_log(size);
  list.add(alignment(width));
  return {{1, tokens * heads * width, tokens, tokens * heads}, list.take()};
}

KernelFeatures router_features(std::span<const double> sizes) {
  const double rows = sizes[0];
  const double experts = sizes[1];
  const double chosen = sizes[2];
  FeatureList list;
  for (const double size : {rows, experts, chosen, rows * experts, rows * chosen}) list.add_log(size);
  return {{1, rows * experts, rows * chosen, rows}, list.take()};
}

KernelFeatures embedding_features(std::span<const double> sizes) {
  const double rows = sizes[0];
  const double width = sizes[1];
  const double table_rows = sizes[2];
  FeatureList list;
  for (const double size : {rows, width, table_rows, rows * width, table_rows * width}) list.add_log(size);
  list.add(alignment(width));
  return {{1, rows * width, table_rows * width, rows}, list.take()};
}

KernelFeatures optimizer_features(std::span<const double> sizes) {
  FeatureList list;
  list.add_log(sizes[0]);
  list.add(sizes[1]);
  list.add_log(sizes[0] / sizes[1]);
  return {{1, sizes[0], sizes[1]}, list.take()};
}

/// Of one size alone: parameters or bytes.
KernelFeatures size_features(double size) {
  FeatureList list;
  list.add_log(size);
  list.add(alignment(size));
  return {{1, size}, list.take()};
}

/// Nothing is known of what they mean but that more of each takes no less time.
KernelFeatures column_features(std::span<const double> sizes) {
  FeatureList list;
  double product = 1;
  std::vector<double> terms = {1};
  for (const double size : sizes) {
    list.add_log(size);
    terms.push_back(size);
    product *= size;
  }
  list.add_log(product);
  terms.push_back(product);
  return {terms, list.take()};
}

}  // namespace

KernelFeatures kernel_features(KernelKind kind, std::span<const double> sizes, double element_bytes) {
  WEFT_CHECK(kind == KernelKind::columns ? !sizes.empty() : sizes.size() == size_names(kind).size(), "sizes are those of the kind");
  switch (kind) {
    case KernelKind::matmul:
      return matmul_features(sizes, element_bytes);
    case KernelKind::grouped_matmul:
      return grouped_matmul_features(sizes, element_bytes);
    case KernelKind::attention:
    case KernelKind::causal_attention:
      return attention_features(sizes, element_bytes);
    case KernelKind::row_wise:
      return row_features(sizes, element_bytes);
    case KernelKind::rotary:
      return rotary_features(sizes);
    case KernelKind::router:
      return router_features(sizes);
    case KernelKind::embedding:
      return embedding_features(sizes);
    case KernelKind::optimizer:
      return optimizer_features(sizes);
    case KernelKind::updates:
    case KernelKind::message:
      return size_features(sizes[0]);
    case KernelKind::columns:
      break;
  }
  return column_features(sizes);
}

std::size_t term_count(KernelKind kind, std::size_t sizes) {
  return kernel_features(kind, std::vector<double>(sizes, 1.0), 1).terms.size();
}

std::size_t feature_count(KernelKind kind, std::size_t sizes) {
  return kernel_features(kind, std::vector<double>(sizes, 1.0), 1).features.size();
}

}  // namespace weft
