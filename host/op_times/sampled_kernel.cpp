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

constexpr std::array<std::string_view, 4> kMatmulSizes = {"rows", "columns", "inner", "groups"};
constexpr std::array<std::string_view, 4> kAttentionSizes = {"sequences", "heads", "length", "head_width"};
constexpr std::array<std::string_view, 2> kRowSizes = {"rows", "width"};
constexpr std::array<std::string_view, 4> kRotarySizes = {"sequences", "length", "heads", "head_width"};
constexpr std::array<std::string_view, 3> kEmbeddingSizes = {"rows", "width", "table_rows"};
constexpr std::array<std::string_view, 2> kOptimizerSizes = {"parameters", "layers"};
constexpr std::array<std::string_view, 1> kUpdateSizes = {"parameters"};
constexpr std::array<std::string_view, 1> kMessageSizes = {"bytes"};

constexpr std::array kKernelKinds = {
    KernelKindInfo{KernelKind::matmul, "matmul", kMatmulSizes},
    KernelKindInfo{KernelKind::attention, "attention", kAttentionSizes},
    KernelKindInfo{KernelKind::row_wise, "row_wise", kRowSizes},
    KernelKindInfo{KernelKind::rotary, "rotary", kRotarySizes},
    KernelKindInfo{KernelKind::embedding, "embedding", kEmbeddingSizes},
    KernelKindInfo{KernelKind::optimizer, "optimizer", kOptimizerSizes},
    KernelKindInfo{KernelKind::updates, "updates", kUpdateSizes},
    KernelKindInfo{KernelKind::message, "message", kMessageSizes},
    KernelKindInfo{KernelKind::columns, "columns", {}},
};

const KernelKindInfo& kernel_kind_info(KernelKind kind) { return *std::ranges::find(kKernelKinds, kind, &KernelKindInfo::kind); }

/// A row of a model under tensor parallelism, as tables have it; 1 for what a table leaves out.
struct ModelColumns {
  double mp, b, h, l, dim, encoders;

  double tokens() const { return b * l; }
  double share() const { return dim / mp; }
  double heads() const { return h / mp; }
  /// Words of a rank, with those that fill up.
  double words() const {
    constexpr double words_of_all = 50257;
    constexpr double multiple = 128;
    return std::ceil(words_of_all / (multiple * mp)) * multiple;
  }
};

using Sizes = std::vector<double>;
/// dim^2 of them: 3 + 1 in attention, 4 + 4 in the layers behind it.
constexpr double weights_of_encoder = 12;

struct FunctionKernel {
  std::string_view function;
  KernelId kernel;
  std::string_view columns;  ///< that it needs, with blanks between them
  Sizes (*sizes)(const ModelColumns&);
};

constexpr KernelId row_wise(std::optional<RowOperator> what) { return {KernelKind::row_wise, what}; }
constexpr KernelId only(KernelKind kind) { return {kind, std::nullopt}; }

Sizes rows_of_dim(const ModelColumns& c) { return {c.tokens(), c.dim}; }
Sizes rows_of_scores(const ModelColumns& c) { return {c.b * c.heads() * c.l, c.l}; }

constexpr std::array kFunctionKernels = {
    FunctionKernel{"linear1", only(KernelKind::matmul), "mp b l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.tokens(), 3 * c.share(), c.dim, 1};
                   }},
    FunctionKernel{"linear2", only(KernelKind::matmul), "mp b l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.tokens(), c.dim, c.share(), 1};
                   }},
    FunctionKernel{"linear3", only(KernelKind::matmul), "mp b l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.tokens(), 4 * c.share(), c.dim, 1};
                   }},
    FunctionKernel{"linear4", only(KernelKind::matmul), "mp b l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.tokens(), c.dim, 4 * c.share(), 1};
                   }},
    FunctionKernel{"linear_final", only(KernelKind::matmul), "mp b l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.tokens(), c.words(), c.dim, 1};
                   }},
    FunctionKernel{"baddbmm", only(KernelKind::matmul), "mp b h l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.l, c.l, c.dim / c.h, c.b * c.heads()};
                   }},
    FunctionKernel{"bmm", only(KernelKind::matmul), "mp b h l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.l, c.dim / c.h, c.l, c.b * c.heads()};
                   }},
    FunctionKernel{"flash_atten", only(KernelKind::attention), "mp b h l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.b, c.heads(), c.l, c.dim / c.h};
                   }},
    FunctionKernel{"softmax", row_wise(RowOperator::softmax), "mp b h l", rows_of_scores},
    FunctionKernel{"ScaledUpperTriangMaskedSoftmax", row_wise(RowOperator::masked_softmax), "mp b h l", rows_of_scores},
    FunctionKernel{"fillmask", row_wise(std::nullopt), "mp b h l", rows_of_scores},
    FunctionKernel{"layernorm", row_wise(RowOperator::layer_norm), "b l dim", rows_of_dim},
    FunctionKernel{"RMSlayernorm", row_wise(RowOperator::rms_norm), "b l dim", rows_of_dim},
    FunctionKernel{"res_add", row_wise(RowOperator::residual_add), "b l dim", rows_of_dim},
    FunctionKernel{"gelu", row_wise(RowOperator::activation), "mp b l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.tokens(), 4 * c.share()};
                   }},
    FunctionKernel{"RoPE", only(KernelKind::rotary), "mp b h l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.b, c.l, c.heads(), c.dim / c.h};
                   }},
    FunctionKernel{"embedding", only(KernelKind::embedding), "mp b l dim",
                   [](const ModelColumns& c) {
                     return Sizes{c.tokens(), c.dim, c.words()};
                   }},
    FunctionKernel{"parallel_cross_entropy_128", row_wise(RowOperator::cross_entropy), "mp b l",
                   [](const ModelColumns& c) {
                     return Sizes{c.tokens(), c.words()};
                   }},
    FunctionKernel{"firstStage_optimizer", only(KernelKind::optimizer), "mp dim encoders",
                   [](const ModelColumns& c) {
                     return Sizes{weights_of_encoder * c.dim * c.share() * c.encoders + c.words() * c.dim, c.encoders};
                   }},
    FunctionKernel{"middleStage_optimizer", only(KernelKind::optimizer), "mp dim encoders",
                   [](const ModelColumns& c) {
                     return Sizes{weights_of_encoder * c.dim * c.share() * c.encoders, c.encoders};
                   }},
    FunctionKernel{"lastStage_optimizer", only(KernelKind::optimizer), "mp dim encoders",
                   [](const ModelColumns& c) {
                     return Sizes{weights_of_encoder * c.dim * c.share() * c.encoders + c.words() * c.dim, c.encoders};
                   }},
};

const FunctionKernel* known_function(std::string_view function) {
  const auto* found = std::ranges::find(kFunctionKernels, function, &FunctionKernel::function);
  return found == kFunctionKernels.end() ? nullptr : found;
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
  std::optional<OperatorKernel> operator()(const GroupedMatmul&) const { return std::nullopt; }
  std::optional<OperatorKernel> operator()(const FusedAttention& shape) const {
    const bool is_sampled = shape.is_causal && shape.query_heads == shape.key_value_heads &&
                            shape.query_length == shape.key_length && shape.key_width == shape.value_width;
    if (!is_sampled) return std::nullopt;
    return OperatorKernel{only(KernelKind::attention),
                          {real(shape.batch), real(shape.query_heads), real(shape.query_length), real(shape.key_width)}};
  }
  std::optional<OperatorKernel> operator()(const RowWise& shape) const {
    return OperatorKernel{row_wise(shape.what), {real(shape.rows), real(shape.width)}};
  }
  std::optional<OperatorKernel> operator()(const EmbeddingLookup& shape) const {
    if (shape.pooled > 1) return std::nullopt;
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
  const auto* found = std::ranges::find(kKernelKinds, name, &KernelKindInfo::name);
  if (found == kKernelKinds.end()) return std::nullopt;
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

std::vector<double> kernel_sizes(std::string_view function, const KernelId& kernel, const ColumnValues& row) {
  constexpr double element_bytes = 2;  // collectives are sampled in fp16, by elements
  if (kernel.kind == KernelKind::message) return {element_bytes * row.of("shape").value_or(0)};
  if (kernel.kind == KernelKind::columns) return {row.values.begin(), row.values.end()};
  const FunctionKernel* known = known_function(function);
  WEFT_CHECK(known != nullptr && known->kernel == kernel, "kernels are those of their functions");
  const auto or_one = [&row](std::string_view name) { return row.of(name).value_or(1); };
  return known->sizes({or_one("mp"), or_one("b"), or_one("h"), or_one("l"), or_one("dim"), or_one("encoders")});
}

std::optional<PooledKernel> pooled_kernel(const KernelId& kernel, std::span<const double> sizes) {
  if (kernel.kind == KernelKind::matmul && sizes[3] == 1) {
    return PooledKernel{"any_matmul", kernel, {sizes.begin(), sizes.end()}};
  }
  if (kernel.kind == KernelKind::rotary) {
    // Queries and keys.
    return PooledKernel{"any_rotary", row_wise(RowOperator::rotary), {sizes[0] * sizes[1], 2 * sizes[2] * sizes[3]}};
  }
  if (kernel.kind == KernelKind::optimizer) return PooledKernel{"any_optimizer", only(KernelKind::updates), {sizes[0]}};
  return std::nullopt;
}

std::optional<OperatorKernel> kernel_of(const OperatorShape& shape) { return std::visit(ShapeKernel(), shape); }

}  // namespace weft
