// SPDX-License-Identifier: Apache-2.0
// Recommender model: embedding tables, dense layers and interactions between features - DLRM and
// DHEN.
//
// Where it sits: model.hpp has one among its kinds.
// Model: a sample has dense features and one set of indices per table. The bottom MLP turns the
// dense features into one more embedding. Interactions combine the n = tables + 1 embeddings of
// width d; the top MLP makes a number of the result.
//   DLRM  n (n - 1) / 2 pairwise products and the bottom's output are the input of the top
//   DHEN  every layer makes l embeddings of n as the sum of its modules and a shortcut, normalised;
//         the top's input is what the last layer gives, l d
// Parameters of a module from n to l embeddings
//   dot_product     n (n - 1) / 2 products, a layer to l d: n (n - 1) / 2 * l d + l d
//   linear          n l
//   cross           d d + d, then n l
//   self_attention  4 d d + 4 d, two norms 4 d, MLP d -> d -> d 2 d d + 2 d, then n l
//   shortcut        n l where n != l; norm 2 d
// Sources: DLRM arXiv 1906.00091; DHEN arXiv 2203.11014, section 3.1. That paper leaves sizes
// inside modules open; those above are the smallest that fit its equations.
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

enum class InteractionModule : std::uint8_t { dot_product, linear, cross, self_attention };

struct InteractionLayer {
  std::uint64_t outputs = 0;
  std::vector<InteractionModule> modules;

  friend bool operator==(const InteractionLayer&, const InteractionLayer&) = default;
};

struct RecommenderModel {
  std::vector<std::uint64_t> table_rows;
  std::uint64_t width = 0;
  std::uint64_t pooled = 1;
  std::vector<std::uint64_t> bottom;  ///< widths, dense features first
  std::vector<std::uint64_t> top;     ///< widths behind the input
  std::vector<InteractionLayer> layers;

  std::uint64_t features() const { return table_rows.size() + 1; }
  /// Inputs of the first layer on top.
  std::uint64_t top_inputs() const;

  friend bool operator==(const RecommenderModel&, const RecommenderModel&) = default;
};

}  // namespace weft
