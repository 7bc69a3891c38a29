// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/sampled_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.hpp"

namespace weft {

namespace {

struct KernelKindInfo {
  KernelKind kind;
  std::string_view name;
  std::span<const std::string_view> sizes;
};

constexpr std::array<std::string_view, 4> matmul_sizes = {"rows", "columns", "inner", "groups"};
constexpr std::array<std::string_view, 5> grouped_matmul_sizes = {"rows", "rows_most", "columns", "inner", "groups"};
constexpr std::array<std::string_view, 4> attention_sizes = {"sequences", "heads", "length", "head_width"};
constexpr std::array<std::string_view, 2> row_sizes = {"rows", "width"};
constexpr std::array<std::string_view, 4> rotary_sizes = {"sequences", "length", "heads", "head_width"};
constexpr std::array<std::string_view, 3> router_sizes = {"rows", "experts", "chosen"};
constexpr std::array<std::string_view, 3> embedding_sizes = {"rows", "width", "table_rows"};
constexpr std::array<std::string_view, 2> optimizer_sizes = {"parameters", "layers"};
constexpr std::array<std::string_view, 1> update_sizes = {"parameters"};
constexpr std::array<std::string_view, 1> message_sizes = {"bytes"};

constexpr std::array kernel_kinds = {
    KernelKindInfo{KernelKind::matmul, "matmul", matmul_sizes},
    KernelKindInfo{KernelKind::grouped_matmul, "grouped_matmul", grouped_matmul_sizes},
    KernelKindInfo{KernelKind::attention, "attention", attention_sizes},
    KernelKindInfo{KernelKind::causal_attention, "causal_attention", attention_sizes},
    KernelKindInfo{KernelKind::row_wise, "row_wise", row_sizes},
    KernelKindInfo{KernelKind::rotary, "rotary", rotary_sizes},
    KernelKindInfo{KernelKind::router, "router", router_sizes},
    KernelKindInfo{KernelKind::embedding, "embedding", embedding_sizes},
    KernelKindInfo{KernelKind::optimizer, "optimizer", optimizer_sizes},
    KernelKindInfo{KernelKind::updates, "updates", update_sizes},
    KernelKindInfo{KernelKind::message, "message", message_sizes},
    KernelKindInfo{KernelKind::columns, "columns", {}},
};

const KernelKindInfo& kernel_kind_info(KernelKind kind) { return *std::ranges::find(kernel_kinds, kind, &KernelKindInfo::kind); }

/// Of a row, as tables have it; 1 for what a table leaves out.
struct RowColumns {
  /// A model under tensor parallelism.
  double mp, b, h, l, dim, encoders, ffn, vocab, experts, topk;
  /// Experts' products; the largest group has `skew` times the mean's rows.
  double rows, skew, columns, inner, groups;

  double tokens() const { return b * l; }
  double share() const { return dim / mp; }
  double heads() const { return h / mp; }
  /// Words of a rank, with those that fill up.
  double words() const {
    constexpr double words_of_all = 50257;
    constexpr double multiple = 128;
    return std::ceil(words_of_all / (multiple * mp)) * multiple;
  }
  /// Of all encoders: 3 + 1 dim^2 of weights in attention and 4 + 4 in the layers behind it, shared
  /// out with their 3 + 1 + 4 + 1 dim of biases; two norms.
  double encoder_parameters() const { return encoders * ((12 * dim + 9) * share() + 2 * norm_parameters()); }
  double norm_parameters() const { return 2 * dim; }  ///< weights and biases
  double table_parameters() const { return words() * dim; }
};

using Sizes = std::vector<double>;

struct FunctionKernel {
  std::string_view function;
  KernelId kernel;
  std::string_view columns;  ///< that it needs, with blanks between them
  Sizes (*sizes)(const RowColumns&);
};

constexpr KernelId row_wise(std::optional<RowOperator> what) { return {KernelKind::row_wise, what}; }
constexpr KernelId only(KernelKind kind) { return {kind, std::nullopt}; }

Sizes heads_of_rank(const RowColumns& c) { return {c.b, c.heads(), c.l, c.dim / c.h}; }
Sizes rows_of_dim(const RowColumns& c) { return {c.tokens(), c.dim}; }
Sizes rows_of_scores(const RowColumns& c) { return {c.b * c.heads() * c.l, c.l}; }

constexpr std::array function_kernels = {
    FunctionKernel{"linear1", only(KernelKind::matmul), "mp b l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), 3 * c.share(), c.dim, 1};
                   }},
    FunctionKernel{"linear2", only(KernelKind::matmul), "mp b l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), c.dim, c.share(), 1};
                   }},
    FunctionKernel{"linear3", only(KernelKind::matmul), "mp b l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), 4 * c.share(), c.dim, 1};
                   }},
    FunctionKernel{"linear4", only(KernelKind::matmul), "mp b l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), c.dim, 4 * c.share(), 1};
                   }},
    FunctionKernel{"linear_final", only(KernelKind::matmul), "mp b l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), c.words(), c.dim, 1};
                   }},
    FunctionKernel{"baddbmm", only(KernelKind::matmul), "mp b h l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.l, c.l, c.dim / c.h, c.b * c.heads()};
                   }},
    FunctionKernel{"bmm", only(KernelKind::matmul), "mp b h l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.l, c.dim / c.h, c.l, c.b * c.heads()};
                   }},
    FunctionKernel{"flash_atten", only(KernelKind::attention), "mp b h l dim", heads_of_rank},
    FunctionKernel{"softmax", row_wise(RowOperator::softmax), "mp b h l", rows_of_scores},
    FunctionKernel{"ScaledUpperTriangMaskedSoftmax", row_wise(RowOperator::masked_softmax), "mp b h l", rows_of_scores},
    FunctionKernel{"fillmask", row_wise(std::nullopt), "mp b h l", rows_of_scores},
    FunctionKernel{"layernorm", row_wise(RowOperator::layer_norm), "b l dim", rows_of_dim},
    FunctionKernel{"RMSlayernorm", row_wise(RowOperator::rms_norm), "b l dim", rows_of_dim},
    FunctionKernel{"res_add", row_wise(RowOperator::residual_add), "b l dim", rows_of_dim},
    FunctionKernel{"gelu", row_wise(RowOperator::activation), "mp b l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), 4 * c.share()};
                   }},
    FunctionKernel{"RoPE", only(KernelKind::rotary), "mp b h l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.b, c.l, c.heads(), c.dim / c.h};
                   }},
    FunctionKernel{"embedding", only(KernelKind::embedding), "mp b l dim",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), c.dim, c.words()};
                   }},
    FunctionKernel{"parallel_cross_entropy_128", row_wise(RowOperator::cross_entropy), "mp b l",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), c.words()};
                   }},
    FunctionKernel{"firstStage_optimizer", only(KernelKind::optimizer), "mp dim encoders",
                   [](const RowColumns& c) {
                     return Sizes{c.encoder_parameters() + c.table_parameters(), c.encoders};
                   }},
    FunctionKernel{"middleStage_optimizer", only(KernelKind::optimizer), "mp dim encoders",
                   [](const RowColumns& c) {
                     return Sizes{c.encoder_parameters(), c.encoders};
                   }},
    FunctionKernel{"lastStage_optimizer", only(KernelKind::optimizer), "mp dim encoders",
                   [](const RowColumns& c) {
                     return Sizes{c.encoder_parameters() + c.norm_parameters() + c.table_parameters(), c.encoders};
                   }},
    FunctionKernel{"causal_flash_atten", only(KernelKind::causal_attention), "mp b h l dim", heads_of_rank},
    FunctionKernel{"swiglu", row_wise(RowOperator::gated_activation), "mp b l ffn",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), c.ffn / c.mp};
                   }},
    FunctionKernel{"cross_entropy", row_wise(RowOperator::cross_entropy), "b l vocab",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), c.vocab};
                   }},
    FunctionKernel{"moe_router", only(KernelKind::router), "b l experts topk",
                   [](const RowColumns& c) {
                     return Sizes{c.tokens(), c.experts, c.topk};
                   }},
    FunctionKernel{"grouped_gemm", only(KernelKind::grouped_matmul), "rows skew columns inner groups",
                   [](const RowColumns& c) {
                     return Sizes{c.rows, std::ceil(c.skew * c.rows / c.groups), c.columns, c.inner, c.groups};
                   }},
};

const FunctionKernel* known_function(std::string_view function) {
  const auto* found = std::ranges::find(function_kernels, function, &FunctionKernel::function);
  return found == function_kernels.end() ? nullptr : found;
}

bool has_all(std::string_view needed, std::span<const std::string> columns) {
  while (!needed.empty()) {
    const std::size_t end = std::min(needed.find(' '), needed.size());
    if (std::ranges::find(columns, needed.substr(0, end)) == columns.end()) return false;
    needed.remove_prefix(std::min(end + 1, needed.size()));
  }
  return true;
}

/// Of an operator of a model.
struct ShapeKernel {
  static double real(std::uint64_t number) { return static_cast<double>(number); }

  std::optional<OperatorKernel> operator()(const Matmul& shape) const {
    return OperatorKernel{only(KernelKind::matmul), {real(shape.rows), real(shape.columns), real(shape.inner), real(shape.groups)}};
  }
  std::optional<OperatorKernel> operator()(const GroupedMatmul& shape) const {
    return OperatorKernel{only(KernelKind::grouped_matmul),
                          {real(shape.rows), real(shape.rows_most), real(shape.columns), real(shape.inner), real(shape.groups)}};
  }
  std::optional<OperatorKernel> operator()(const FusedAttention& shape) const {
    const bool is_sampled = shape.query_heads == shape.key_value_heads && shape.query_length == shape.key_length &&
                            shape.key_width == shape.value_width;
    if (!is_sampled) return std::nullopt;
    return OperatorKernel{only(shape.is_causal ? KernelKind::causal_attention : KernelKind::attention),
                          {real(shape.batch), real(shape.query_heads), real(shape.query_length), real(shape.key_width)}};
  }
  std::optional<OperatorKernel> operator()(const RowWise& shape) const {
    return OperatorKernel{row_wise(shape.what), {real(shape.rows), real(shape.width)}};
  }
  std::optional<OperatorKernel> operator()(const EmbeddingLookup& shape) const {
    if (shape.pooled > 1 || shape.is_updated_in_place) return std::nullopt;
    return OperatorKernel{only(KernelKind::embedding), {real(shape.rows), real(shape.width), real(shape.table_rows)}};
  }
  std::optional<OperatorKernel> operator()(const Convolution&) const { return std::nullopt; }
  std::optional<OperatorKernel> operator()(const OptimizerStep& shape) const {
    return OperatorKernel{only(KernelKind::updates), {real(shape.parameters)}};
  }
};

}  // namespace

std::string_view to_text(KernelKind kind) { return kernel_kind_info(kind).name; }

std::optional<KernelKind> kernel_kind_called(std::string_view name) {
  const auto* found = std::ranges::find(kernel_kinds, name, &KernelKindInfo::name);
  if (found == kernel_kinds.end()) return std::nullopt;
  return found->kind;
}

std::span<const std::string_view> size_names(KernelKind kind) { return kernel_kind_info(kind).sizes; }

std::optional<double> ColumnValues::of(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return values[static_cast<std::size_t>(found - names.begin())];
}

KernelId kernel_of_function(std::string_view function, std::span<const std::string> columns) {
  if (has_all("shape nodes GPUsPerNode", columns) && columns.size() == 3) return only(KernelKind::message);
  const FunctionKernel* known = known_function(function);
  return known != nullptr && has_all(known->columns, columns) ? known->kernel : only(KernelKind::columns);
}

std::vector<double> kernel_sizes(std::string_view function, const KernelId& kernel, ElementType type, const ColumnValues& row) {
  if (kernel.kind == KernelKind::message) return {type.bytes() * row.of("shape").value_or(0)};
  if (kernel.kind == KernelKind::columns) return {row.values.begin(), row.values.end()};
  const FunctionKernel* known = known_function(function);
  WEFT_CHECK(known != nullptr && known->kernel == kernel, "kernels are those of their functions");
  const auto or_one = [&row](std::string_view name) { return row.of(name).value_or(1); };
  return known->sizes({.mp = or_one("mp"),
                       .b = or_one("b"),
                       .h = or_one("h"),
                       .l = or_one("l"),
                       .dim = or_one("dim"),
                       .encoders = or_one("encoders"),
                       .ffn = or_one("ffn"),
                       .vocab = or_one("vocab"),
                       .experts = or_one("experts"),
                       .topk = or_one("topk"),
                       .rows = or_one("rows"),
                       .skew = or_one("skew"),
                       .columns = or_one("columns"),
                       .inner = or_one("inner"),
                       .groups = or_one("groups")});
}

ElementType operator_type(const KernelId& kernel, ElementType type) {
  constexpr ElementType single{"FP32", 32};
  return kernel.row_operator == RowOperator::cross_entropy ? single : type;
}

std::optional<PooledKernel> pooled_kernel(const KernelId& kernel, std::span<const double> sizes) {
  if (kernel.kind == KernelKind::matmul && sizes[3] == 1) {
    return PooledKernel{"any_matmul", kernel, {sizes.begin(), sizes.end()}};
  }
  if (kernel.kind == KernelKind::rotary) {
    // Queries and keys.
    return PooledKernel{"any_rotary", row_wise(RowOperator::rotary), {sizes[0] * sizes[1], 2 * sizes[2] * sizes[3]}};
  }
  if (kernel.kind == KernelKind::router) {
    return PooledKernel{"any_router", row_wise(RowOperator::router), {sizes[0], sizes[1]}};
  }
  if (kernel.kind == KernelKind::optimizer) return PooledKernel{"any_optimizer", only(KernelKind::updates), {sizes[0]}};
  return std::nullopt;
}

std::optional<OperatorKernel> kernel_of(const OperatorShape& shape) { return std::visit(ShapeKernel(), shape); }

std::optional<OperatorShape> operator_of(const KernelId& kernel, std::span<const double> sizes) {
  const auto size = [sizes](std::size_t i) { return static_cast<std::uint64_t>(std::llround(sizes[i])); };
  switch (kernel.kind) {
    case KernelKind::matmul:
      return Matmul{.rows = size(0), .columns = size(1), .inner = size(2), .groups = size(3)};
    case KernelKind::grouped_matmul:
      return GroupedMatmul{.rows = size(0), .rows_most = size(1), .columns = size(2), .inner = size(3), .groups = size(4)};
    case KernelKind::attention:
    case KernelKind::causal_attention:
      return FusedAttention{.batch = size(0),
                            .query_heads = size(1),
                            .key_value_heads = size(1),
                            .query_length = size(2),
                            .key_length = size(2),
                            .key_width = size(3),
                            .value_width = size(3),
                            .is_causal = kernel.kind == KernelKind::causal_attention};
    case KernelKind::row_wise:
      if (!kernel.row_operator) return std::nullopt;
      return RowWise{.what = *kernel.row_operator, .rows = size(0), .width = size(1)};
    case KernelKind::embedding:
      return EmbeddingLookup{.rows = size(0), .width = size(1), .table_rows = size(2)};
    case KernelKind::updates:
      return OptimizerStep{.parameters = size(0)};
    case KernelKind::rotary:
    case KernelKind::router:
    case KernelKind::optimizer: {
      const std::optional<PooledKernel> pooled = pooled_kernel(kernel, sizes);
      return operator_of(pooled->kernel, pooled->sizes);
    }
    case KernelKind::message:
    case KernelKind::columns:
      break;
  }
  return std::nullopt;
}

}  // namespace weft
