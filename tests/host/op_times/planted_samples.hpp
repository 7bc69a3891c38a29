// SPDX-License-Identifier: Apache-2.0
// Samples with a planted time: a GEMM with waves of tiles and a norm bound by memory, with noise of
// a known size.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/text/source_text.hpp"
#include "core/values/random.hpp"
#include "host/op_times/regressor_search.hpp"
#include "host/op_times/sampled_tables.hpp"

namespace weft {

/// 300 Tflop/s in whole waves of 108 tiles of 128 x 128, and 4 us: the planted forward time of a
/// matmul.
inline double planted_matmul_us(double rows, double columns, double inner) {
  const double tiles = std::ceil(rows / 128) * std::ceil(columns / 128);
  const double waves = std::ceil(tiles / 108);
  return 4 + waves * 108 * 2 * 128 * 128 * inner / 300e6;
}

/// A search that takes a second.
inline RegressorSearch small_search() {
  RegressorSearch how;
  how.candidates = {{false, 100, 5, 0.1, 2, 0.7, 0.7}, {true, 30, 8, 1, 2, 0.8, 0.7}};
  return how;
}

/// linear1 and layernorm of one GPU. `noise`: standard deviation of ln(time).
inline SampledFolder planted_samples(double noise) {
  RandomStream chance(11, 0, 0);
  const auto noisy = [&](double us) { return us * std::exp(chance.normal(0, noise)); };
  std::string matmuls = "mp,b,l,dim,F_dur(us),B_dur(us)\n";
  std::string norms = "b,l,dim,F_dur(us),B_dur(us)\n";
  for (const int b : {1, 2, 4, 8}) {
    for (const int l : {512, 1024, 1536, 2048}) {
      for (const int dim : {1024, 1536, 2048, 3072, 4096}) {
        for (const int mp : {1, 2, 4}) {
          const double us = planted_matmul_us(b * l, 3 * dim / mp, dim);
          matmuls += fmt::format("{},{},{},{},{},{}\n", mp, b, l, dim, noisy(us), noisy(2 * us));
        }
        const double us = 2 + 4.0 * b * l * dim / 1.5e6;
        norms += fmt::format("{},{},{},{},{}\n", b, l, dim, noisy(us), noisy(2.5 * us));
      }
    }
  }
  SampledFolder folder;
  folder.gpu = "planted";
  for (const auto& [name, text] : {std::pair{"planted_linear1_fp16.csv", matmuls}, {"planted_layernorm_fp16.csv", norms}})
    folder.tables.push_back(read_sampled_table(SourceText(name, text), *parse_sampled_name(name)));
  return folder;
}

}  // namespace weft
