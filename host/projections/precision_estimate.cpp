// SPDX-License-Identifier: Apache-2.0
#include "host/projections/precision_estimate.hpp"

#include <algorithm>
#include <cstdint>

#include "core/check.hpp"
#include "workloads/plans/plan_volumes.hpp"

namespace weft {

namespace {

/// Bytes that a rank sends of a collective whose input buffers have `bytes`, by a ring.
double sent_bytes(const PlanVolume& volume, std::uint64_t ranks) {
  const auto bytes = static_cast<double>(volume.bytes.count());
  const auto n = static_cast<double>(ranks);
  if (volume.kind == OpKind::send) return bytes;
  switch (volume.type) {
    case CollectiveType::all_reduce:
      return 2.0 * (n - 1.0) / n * bytes;
    case CollectiveType::all_gather:
      return (n - 1.0) * bytes;
    default:
      return (n - 1.0) / n * bytes;  // reduce-scatters and all-to-alls keep one part
  }
}

/// Bytes that a rank of a stage sends in an iteration.
struct SentBytes {
  double data = 0;
  double tensor = 0;
  double other = 0;
};

SentBytes physical_bytes(const TransformerModel& model, const ParallelPlan& plan, std::uint32_t stage) {
  SentBytes sent;
  for (const PlanVolume& volume : plan_volumes(model, plan, stage)) {
    const double bytes = sent_bytes(volume, size_of(volume.axis, plan));
    switch (volume.axis) {
      case PlanAxis::replicas:
      case PlanAxis::expert_replicas:
      case PlanAxis::embedding:
        sent.data += bytes;
        break;
      case PlanAxis::tensor:
      case PlanAxis::expert_tensor:
        sent.tensor += bytes;
        break;
      case PlanAxis::context:
      case PlanAxis::expert:
        sent.other += bytes;
        break;
      case PlanAxis::pipeline:
      case PlanAxis::world:
        break;
    }
  }
  return sent;
}

SentBytes published_bytes(const ParallelPlan& plan, const GpuSubgraph& graph) {
  SentBytes sent;
  for (const GraphWeight& weight : graph.weights) {
    const double bytes = static_cast<double>(weight.parameters) * weight.type.bytes();
    if (plan.data > 1) sent.data += bytes;
    if (weight.is_sliced) sent.tensor += bytes;
  }
  return sent;
}

Duration at_rate(double bytes, Bandwidth link) {
  return Duration::from_seconds(bytes * Bytes::of(1).in_bits() / static_cast<double>(link.in_bps()));
}

Duration times(Duration time, double factor) { return Duration::from_seconds(time.in_s() * factor); }

}  // namespace

PrecisionEstimate precision_estimate(const TransformerModel& model, const ParallelPlan& plan, const OperatorClock& clock,
                                     Bandwidth link, Arithmetic arithmetic) {
  WEFT_CHECK(link > Bandwidth::zero(), "links have a rate");
  const bool as_published = arithmetic == Arithmetic::as_published;
  const std::uint64_t microbatches = plan.microbatches();
  PrecisionEstimate slowest;
  Duration data;
  for (std::uint32_t stage = 0; stage < plan.pipeline; ++stage) {
    const GpuSubgraph graph = gpu_subgraph(model, plan, stage, 0, 0, arithmetic);
    Duration one;
    for (const OperatorUse& use : unique_operators(model, plan, graph))
      one += clock(use.what.op, use.what.pass) * static_cast<std::int64_t>(use.count);
    const SentBytes sent = as_published ? published_bytes(plan, graph) : physical_bytes(model, plan, stage);
    PrecisionEstimate own;
    own.computation = one * static_cast<std::int64_t>(microbatches);
    own.tensor = at_rate(sent.tensor, link);
    own.other = at_rate(sent.other, link);
    data = std::max(data, at_rate(sent.data, link));
    if (own.total() > slowest.total()) slowest = own;
  }
  const double further = plan.pipeline - 1.0;
  if (as_published) {
    slowest.pipeline = times(slowest.computation, further);
  } else if (plan.pipeline > 1) {
    const auto message = static_cast<double>(TrainingSteps(model, plan).pipeline_message().count());
    const double slots = static_cast<double>(microbatches) * plan.chunks;
    slowest.pipeline = times(slowest.total(), further / slots) + at_rate(2.0 * further * message, link);
  }
  slowest.data = data;
  return slowest;
}

ParallelPlan precision_blind(ParallelPlan plan) {
  plan.precision = precision_of(PrecisionKind::all_fp32);
  return plan;
}

}  // namespace weft
