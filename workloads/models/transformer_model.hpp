// SPDX-License-Identifier: Apache-2.0
// Transformer model: the shapes of a stack of transformer layers - GPT, Llama, mixtures of experts,
// vision transformers.
//
// Where it sits: model.hpp has one among its kinds; transformer_components.hpp counts its
// parameters; plans divide it.
// Sources: Vaswani et al., arXiv 1706.03762; grouped queries arXiv 2305.13245; gated MLPs arXiv
// 2002.05202; latent attention arXiv 2405.04434, section 2.1; experts arXiv 2101.03961 and, for
// shared ones and biases of routers, arXiv 2412.19437, section 2.1.2; images arXiv 2010.11929.
// Threads: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace weft {

/// Every query head has keys and values of its own or shares them with others of its group.
struct GroupedQueryAttention {
  std::uint64_t heads = 0;
  std::uint64_t key_value_heads = 0;  ///< divides heads
  std::uint64_t head_width = 0;

  friend bool operator==(const GroupedQueryAttention&, const GroupedQueryAttention&) = default;
};

/// Queries, keys and values come from compressed ones.
struct LatentAttention {
  std::uint64_t heads = 0;
  std::uint64_t query_rank = 0;  ///< 0: queries are not compressed
  std::uint64_t key_value_rank = 0;
  std::uint64_t key_width = 0;     ///< of a head, without positions
  std::uint64_t rotary_width = 0;  ///< of a head of queries, and of the one head of keys
  std::uint64_t value_width = 0;

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

struct AttentionBlock {
  std::variant<GroupedQueryAttention, LatentAttention> kind;
  bool query_key_value_bias = false;
  bool output_bias = false;
  bool query_key_norm = false;

  std::uint64_t heads() const;
  /// Heads of keys and values that are kept apart; of latent attention all.
  std::uint64_t key_value_heads() const;
  std::uint64_t key_width() const;    ///< of a head, of queries and keys, positions included
  std::uint64_t value_width() const;  ///< of a head

  friend bool operator==(const AttentionBlock&, const AttentionBlock&) = default;
};

enum class Activation : std::uint8_t { gelu, swiglu, relu };
enum class Norm : std::uint8_t { layer_norm, rms_norm };
enum class Positions : std::uint8_t { rotary, learned, none };

struct MlpBlock {
  std::uint64_t width = 0;
  Activation activation = Activation::gelu;
  bool bias = false;

  bool is_gated() const { return activation == Activation::swiglu; }
  /// Projections up: with a gate two.
  std::uint64_t projections_up() const { return is_gated() ? 2 : 1; }

  friend bool operator==(const MlpBlock&, const MlpBlock&) = default;
};

struct ExpertBlock {
  std::uint64_t count = 0;
  std::uint64_t top_k = 0;
  std::uint64_t width = 0;         ///< of one expert
  std::uint64_t shared_width = 0;  ///< of all shared experts together
  std::uint64_t first_dense_layers = 0;
  bool router_bias = false;
  double capacity_factor = 0.0;     ///< 0: no limit
  std::vector<double> load_shares;  ///< of each expert, 1 in all; empty: evenly

  friend bool operator==(const ExpertBlock&, const ExpertBlock&) = default;
};

/// Square images of square patches.
struct ImageInput {
  std::uint64_t size = 0;
  std::uint64_t patch = 0;
  std::uint64_t channels = 3;
  std::uint64_t classes = 0;

  std::uint64_t patches() const { return (size / patch) * (size / patch); }

  friend bool operator==(const ImageInput&, const ImageInput&) = default;
};

struct TransformerModel {
  std::uint64_t layers = 0;
  std::uint64_t hidden = 0;
  std::uint64_t vocabulary = 0;  ///< 0 of images
  std::uint64_t sequence = 0;    ///< tokens; of images their patches and the class
  AttentionBlock attention;
  MlpBlock mlp;
  std::optional<ExpertBlock> experts;
  Norm norm = Norm::layer_norm;
  Positions positions = Positions::rotary;
  std::uint64_t learned_positions = 0;  ///< rows of the table
  bool tied_embeddings = false;
  double dropout = 0.0;
  std::optional<ImageInput> images;

  bool is_causal() const { return !images; }
  /// Layers without experts; they come first.
  std::uint64_t dense_layers() const { return experts ? experts->first_dense_layers : layers; }
  bool has_experts(std::uint64_t layer) const { return experts && layer >= experts->first_dense_layers; }

  friend bool operator==(const TransformerModel&, const TransformerModel&) = default;
};

/// Loads of `count` experts whose Gini coefficient is `gini`, largest first, 1 in all: the Lorenz
/// curve is x^a with a = (1 + G) / (1 - G), cut so that the discrete loads have exactly G.
/// Requires: 0 <= gini <= (count - 1) / count, the most that so many loads can have.
std::vector<double> loads_with_gini(std::uint64_t count, double gini);

/// Gini coefficient of loads: mean absolute difference of all pairs over twice the mean.
double gini_of(const std::vector<double>& loads);

}  // namespace weft
