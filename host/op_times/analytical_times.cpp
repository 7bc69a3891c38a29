// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/analytical_times.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"
#include "host/op_times/analytical_matmul.hpp"

namespace weft {

namespace {

/// Sums leave products of types below 16 bits as 16 bits.
constexpr double output_bytes_min = 2;

ElementType read_type(const std::string& text, const std::string& /*param*/) {
  const std::optional<ElementType> type = element_type_named(text);
  WEFT_CHECK(type.has_value(), "every choice is an element type");
  return *type;
}

constexpr std::array analytical_rows = {
    param<&AnalyticalSettings::load>(
        {.name = "load",
         .default_text = "training",
         .choices = "training|kernels",
         .meaning = "What keeps the GPU's clock down: training, by gpu.training_share, or kernels that are measured one at a time.",
         .origin = "operator times are for iterations here"}),
    param<&AnalyticalSettings::kernels>(
        {.name = "kernels",
         .default_text = "fused",
         .choices = "fused|eager",
         .meaning = "Whether norms, activations, rotary embedding, losses and the optimizer are a kernel each, or as many as "
                    "PyTorch runs without fusion.",
         .origin = "Megatron-Core with Transformer Engine or Apex"}),
    param<&AnalyticalSettings::loss>(
        {.name = "loss",
         .default_text = "as_others",
         .choices = "as_others|fused|eager",
         .meaning = "The same of the loss alone: as_others is as analytical.kernels says.",
         .origin = "Transformer Engine, NeMo; Megatron-LM has an eager loss unless --cross-entropy-loss-fusion"}),
    param<&AnalyticalSettings::attention>(
        {.name = "attention",
         .default_text = "auto",
         .choices = "auto|flash_attention_2|flash_attention_3|flash_attention_4",
         .meaning = "Version of the fused attention kernel; auto: 4 on Blackwell, 3 on Hopper, else 2.",
         .origin = "the newest that a generation has"}),
    param_read<read_type, &AnalyticalSettings::gradient_type>({.name = "gradient_type",
                                                               .kind = ParamKind::choice,
                                                               .default_text = "FP32",
                                                               .choices = "FP32|BF16|FP16",
                                                               .meaning = "Type of the gradient that a fused optimizer reads.",
                                                               .origin = "Megatron-Core accumulates gradients in FP32"}),
    param<&AnalyticalSettings::dispatch>(
        {.name = "dispatch",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "10ms",
         .meaning = "What the host takes to hand an operator over, forward or one kind of gradient: operators that follow each "
                    "other without communication take no less together.",
         .origin = "a host that is always ahead of its GPU"}),
};

double size_of(std::uint64_t count) { return static_cast<double>(count); }

/// Products of one pass; two for all of backward.
struct PassProblems {
  std::array<MatmulProblem, 2> all;
  std::size_t count = 0;
};

/// m x n x k, and what backward's two passes make of it.
MatmulProblem of_pass(const MatmulProblem& forward, OperatorPass pass) {
  MatmulProblem problem = forward;
  if (pass == OperatorPass::backward_input) {
    std::swap(problem.columns, problem.inner);
    problem.left_share = 1;
  } else if (pass == OperatorPass::backward_weight) {
    problem.rows = forward.inner;
    problem.inner = forward.rows;
    problem.inner_most = forward.rows_most;
    problem.rows_most = 0;
  }
  return problem;
}

/// Rows of all operands have columns or inner elements, in backward, too.
bool is_aligned(const MatmulProblem& forward) {
  constexpr double access_bytes = 16;
  const auto is_multiple = [&](double elements) { return std::fmod(elements * forward.input_bytes, access_bytes) == 0.0; };
  return is_multiple(forward.columns) && is_multiple(forward.inner);
}

struct ForwardProblem {
  std::optional<MatmulProblem> operator()(const Matmul& shape) const {
    return MatmulProblem{.rows = size_of(shape.rows),
                         .columns = size_of(shape.columns),
                         .inner = size_of(shape.inner),
                         .groups = size_of(shape.groups)};
  }
  std::optional<MatmulProblem> operator()(const GroupedMatmul& shape) const {
    const double groups = std::max(1.0, size_of(shape.groups));
    return MatmulProblem{.rows = size_of(shape.rows) / groups,
                         .columns = size_of(shape.columns),
                         .inner = size_of(shape.inner),
                         .groups = groups,
                         .rows_most = std::min(size_of(shape.rows_most), size_of(shape.rows))};
  }
  std::optional<MatmulProblem> operator()(const Convolution& shape) const {
    const double taps = size_of(shape.kernel) * size_of(shape.kernel);
    // Outputs in between reuse an input as often as kernels overlap there.
    const double overlap = std::max(1.0, taps / (size_of(shape.stride) * size_of(shape.stride)));
    return MatmulProblem{.rows = size_of(shape.batch) * size_of(shape.output_height) * size_of(shape.output_width),
                         .columns = size_of(shape.output_channels),
                         .inner = size_of(shape.input_channels) * taps,
                         .left_share = 1.0 / overlap};
  }
  template <class Other>
  std::optional<MatmulProblem> operator()(const Other&) const {
    return std::nullopt;
  }
};

bool has_pass(const OperatorShape& shape, OperatorPass pass) {
  if (std::holds_alternative<OptimizerStep>(shape)) return pass == OperatorPass::forward;
  const bool has_product = std::holds_alternative<Matmul>(shape) || std::holds_alternative<GroupedMatmul>(shape) ||
                           std::holds_alternative<Convolution>(shape);
  return pass != OperatorPass::backward_weight || has_product;
}

}  // namespace

ParamTable analytical_params() { return analytical_rows; }

KernelFusion AnalyticalSettings::kernels_of(RowOperator what) const {
  if (what != RowOperator::cross_entropy || loss == LossKernels::as_others) return kernels;
  return loss == LossKernels::eager ? KernelFusion::eager : KernelFusion::fused;
}

AnalyticalTimes::AnalyticalTimes(Gpu gpu, const AnalyticalSettings& settings) : gpu_(std::move(gpu)), settings_(settings) {
  if (settings_.load == GpuLoad::training) gpu_.sustained_clock_hz *= gpu_.training_share;
}

std::string AnalyticalTimes::origin() const { return "analytical: " + gpu_.preset; }

std::optional<std::string> AnalyticalTimes::missing(const Operator& op, OperatorPass pass) const {
  const std::optional<MatrixType> type = matrix_type_of(op.type);
  if (!type) return fmt::format("the analytical model has no {}", op.type.name);
  if (!gpu_.peak(*type)) return fmt::format("{} has no {}", gpu_.preset, op.type.name);
  if (!has_pass(op.shape, pass)) return fmt::format("{} has no {}", to_text(op.shape), to_text(pass));
  return std::nullopt;
}

std::optional<Duration> AnalyticalTimes::time_of(const Operator& op, OperatorPass pass) const {
  if (missing(op, pass)) return std::nullopt;
  const MatrixType type = *matrix_type_of(op.type);
  const double element_bytes = op.type.bytes();
  const auto streamed = [&](const MemoryTraffic& traffic) {
    return traffic.kernels * gpu_.kernel_overhead.in_s() + traffic.bytes / gpu_.memory_bytes_per_s();
  };
  double time_s = 0;
  if (auto forward = std::visit(ForwardProblem(), op.shape)) {
    forward->input_bytes = element_bytes;
    forward->output_bytes = std::max(element_bytes, output_bytes_min);
    // Libraries pad the channels of convolutions.
    if (!std::holds_alternative<Convolution>(op.shape)) forward->is_aligned = is_aligned(*forward);
    if (pass == OperatorPass::backward) {
      time_s = plan_matmul(gpu_, type, of_pass(*forward, OperatorPass::backward_input)).time_s +
               plan_matmul(gpu_, type, of_pass(*forward, OperatorPass::backward_weight)).time_s;
    } else {
      time_s = plan_matmul(gpu_, type, of_pass(*forward, pass)).time_s;
    }
  } else if (const auto* attention = std::get_if<FusedAttention>(&op.shape)) {
    time_s =
        plan_attention(gpu_, type, element_bytes, *attention, pass, attention_kernel(gpu_.generation, settings_.attention)).time_s;
  } else if (const auto* rows = std::get_if<RowWise>(&op.shape)) {
    time_s = streamed(traffic_of(*rows, element_bytes, pass, settings_.kernels_of(rows->what)));
  } else if (const auto* lookup = std::get_if<EmbeddingLookup>(&op.shape)) {
    time_s = streamed(traffic_of(*lookup, element_bytes, pass));
  } else {
    const double gradient_bytes = settings_.gradient_type.bytes();
    time_s = streamed(traffic_of(std::get<OptimizerStep>(op.shape), element_bytes, gradient_bytes, settings_.kernels));
  }
  // Nobody waits a year for an operator; sizes beyond are mistakes, not shapes.
  if (!(time_s < one_year.in_s())) return std::nullopt;
  return std::max(Duration::from_seconds(time_s), Duration::ticks(1));
}

}  // namespace weft
