// SPDX-License-Identifier: Apache-2.0
#include "host/projections/stage_composition.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "workloads/plans/pipeline_layout.hpp"
#include "workloads/schedules/gpipe.hpp"
#include "workloads/schedules/one_forward_one_backward.hpp"

namespace weft {

namespace {

using SplitResult = std::variant<std::vector<std::uint64_t>, std::string>;

constexpr double us_per_s = 1e6;

Duration from_us(double us) { return Duration::from_seconds(us / us_per_s); }

SplitResult split_evenly(std::uint64_t layers, std::uint32_t stages) {
  std::variant<PipelineLayout, std::string> layout = pipeline_layout({.layers = layers, .stages = stages});
  if (std::string* rule = std::get_if<std::string>(&layout)) return std::move(*rule);
  std::vector<std::uint64_t> split;
  for (const LayerRange& range : std::get<PipelineLayout>(layout)) split.push_back(range.count);
  return split;
}

SplitResult split_by_program(std::uint64_t layers, std::uint32_t stages) {
  constexpr std::uint64_t of_first = 2;  // embedding and what prepares its output
  constexpr std::uint64_t of_last = 3;   // what follows the last layer, final norm, output layer
  const std::uint64_t counted = layers + of_first + of_last;
  const std::uint64_t up = (counted + stages - 1) / stages;
  const std::uint64_t down = counted / stages;
  if (up < of_first || down < of_last) {
    return fmt::format("{} layers and 5 that embedding and output count as are too few for {} stages", layers, stages);
  }
  std::vector<std::uint64_t> split(stages, down);
  split.front() = up - of_first;
  split.back() = down - of_last;
  return split;
}

/// With the transfer to the next stage in it.
double with_transfer(double pass_us, double transfer_us, bool sends) { return sends ? pass_us + transfer_us : pass_us; }

/// Sums and maxima of stages, transfers included.
struct StageSums {
  double forward_sum = 0;
  double backward_sum = 0;
  double forward_max = 0;
  double backward_max = 0;
  double both_max = 0;
  double update_max = 0;
};

StageSums sums_of(const PipelineStages& pipeline) {
  StageSums sums;
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    const StageTimes& stage = pipeline.stages[i];
    const double forward = with_transfer(stage.forward_us, pipeline.transfer_us, i + 1 < pipeline.stages.size());
    const double backward = with_transfer(stage.backward_us, pipeline.transfer_us, i > 0);
    sums.forward_sum += forward;
    sums.backward_sum += backward;
    sums.forward_max = std::max(sums.forward_max, forward);
    sums.backward_max = std::max(sums.backward_max, backward);
    sums.both_max = std::max(sums.both_max, forward + backward);
    sums.update_max = std::max(sums.update_max, stage.update.sum_us());
  }
  return sums;
}

double exact_step_us(const Module<PipelineScheduleMaker>& schedule, const PipelineStages& pipeline, std::uint32_t microbatches) {
  const PipelineSizes sizes{.stages = static_cast<std::uint32_t>(pipeline.stages.size()), .microbatches = microbatches};
  const PipelineScheduleResult made = schedule.make.make(sizes, ParamSet(std::string(schedule.info.name), schedule.info.params));
  const auto* found = std::get_if<PipelineSchedule>(&made);
  WEFT_CHECK(found != nullptr, "there is a schedule of whole stages for every size");
  std::vector<PositionTimes> positions;
  for (const StageTimes& stage : pipeline.stages) {
    positions.push_back({.forward = from_us(stage.forward_us),
                         .backward = from_us(stage.backward_us),
                         .forward_transfer = from_us(pipeline.transfer_us),
                         .backward_transfer = from_us(pipeline.transfer_us)});
  }
  const PipelineTimeline timeline = execute(sizes, found->order, positions);
  Duration end;
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    const Duration passes = timeline.devices[i].passes.back().end.since_start();
    end = std::max(end, passes + from_us(pipeline.stages[i].update.sum_us()));
  }
  return end.in_us();
}

void add(StageTimes& stage, const PassPair& pair) {
  stage.forward_us += pair.forward_us;
  stage.backward_us += pair.backward_us;
}

}  // namespace

SplitResult split_layers(LayerSplit split, std::uint64_t layers, std::uint32_t stages) {
  if (layers == 0 || stages == 0) return std::string("a pipeline has a layer and a stage at least");
  if (stages == 1) return std::vector<std::uint64_t>{layers};
  switch (split) {
    case LayerSplit::evenly:
      return split_evenly(layers, stages);
    case LayerSplit::ceil_floor: {
      std::vector<std::uint64_t> by_stage(stages, layers / stages);
      by_stage.front() = (layers + stages - 1) / stages;
      return by_stage;
    }
    case LayerSplit::of_program:
      return split_by_program(layers, stages);
  }
  return std::string("no such split");
}

PassPair encoder_of(const ComponentTimes& components) {
  PassPair encoder;
  for (const PassPair& op : components.encoder) {
    encoder.forward_us += op.forward_us;
    encoder.backward_us += op.backward_us;
  }
  encoder.forward_us += components.forward_syncs * components.tensor_all_reduce_us;
  encoder.backward_us += components.backward_syncs * components.tensor_all_reduce_us;
  encoder.backward_us += components.recomputed * encoder.forward_us;
  return encoder;
}

PipelineStages compose_stages(const ComponentTimes& components, const std::vector<std::uint64_t>& layers) {
  WEFT_CHECK(!layers.empty(), "a pipeline has a stage");
  const PassPair encoder = encoder_of(components);
  PipelineStages pipeline{.stages = {}, .transfer_us = components.transfer_us};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool is_first = i == 0;
    const bool is_last = i + 1 == layers.size();
    StageTimes stage;
    if (is_first) {
      add(stage, components.embedding);
      stage.forward_us += components.tensor_all_reduce_us;
    }
    const auto count = static_cast<double>(layers[i]);
    add(stage, {encoder.forward_us * count, encoder.backward_us * count});
    if (is_last) {
      add(stage, components.final_norm);
      add(stage, components.output);
      add(stage, components.loss);
    }
    stage.update = is_first ? components.first_update : is_last ? components.last_update : components.middle_update;
    pipeline.stages.push_back(stage);
  }
  return pipeline;
}

StepEstimates estimate_steps(const PipelineStages& pipeline, std::uint32_t microbatches) {
  WEFT_CHECK(!pipeline.stages.empty() && microbatches > 0, "a step has a stage and a microbatch");
  const StageSums sums = sums_of(pipeline);
  const double further = microbatches - 1.0;
  const double slots = further + static_cast<double>(pipeline.stages.size());
  StepEstimates steps;
  steps.afab_us = slots * (sums.forward_max + sums.backward_max) + sums.update_max;
  steps.one_f_one_b_published_us =
      sums.forward_sum + further * std::max(sums.forward_max, sums.backward_max) + sums.backward_sum + sums.update_max;
  steps.one_f_one_b_us = sums.forward_sum + sums.backward_sum + further * sums.both_max + sums.update_max;
  steps.afab_exact_us = exact_step_us(gpipe_module(), pipeline, microbatches);
  steps.one_f_one_b_exact_us = exact_step_us(one_forward_one_backward_module(), pipeline, microbatches);
  return steps;
}

double bubble_fraction(std::uint32_t stages, std::uint32_t microbatches) {
  WEFT_CHECK(stages > 0 && microbatches > 0, "a step has a stage and a microbatch");
  return (stages - 1.0) / (microbatches + (stages - 1.0));
}

double hours_of_training(double tokens, double tokens_per_step, double step_us) {
  constexpr double us_per_hour = 3600.0 * us_per_s;
  return tokens / tokens_per_step * step_us / us_per_hour;
}

double data_all_reduce_volume(double parameters, std::uint64_t replicas, Arithmetic arithmetic) {
  const auto ranks = static_cast<double>(replicas);
  const double sent = 2.0 * parameters * (ranks - 1.0) / ranks;
  return arithmetic == Arithmetic::as_published ? sent / ranks : sent;
}

double data_all_gather_volume(double parameters, std::uint64_t replicas) {
  const auto ranks = static_cast<double>(replicas);
  return parameters / ranks * (ranks - 1.0);
}

double tensor_volume_bytes(std::uint32_t syncs, double elements, std::uint64_t ranks, Arithmetic arithmetic) {
  constexpr double half_bytes = 2.0;
  const auto group = static_cast<double>(ranks);
  const double factor = arithmetic == Arithmetic::as_published ? 2.0 : 2.0 * (group - 1.0) / group;
  return factor * syncs * elements * half_bytes;
}

}  // namespace weft
