// SPDX-License-Identifier: Apache-2.0
#include "workloads/schedules/weight_filling.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "workloads/schedules/pass_times.hpp"

namespace weft {

namespace {

/// A device as it is filled.
class FilledDevice {
 public:
  FilledDevice(const PipelineSizes& sizes, const WeightFilling& filling)
      : sizes_(sizes), filling_(filling), work_left_(device_work(sizes)) {}

  /// Does what rules 1 and 2 ask for, then the pass. Returns its end; none if it has no room or the
  /// device cannot end in time.
  std::optional<Time> add(const PipelinePass& pass, Time ready) {
    if (pass.kind == PassKind::forward) {
      while (!held_.has_room(sizes_, filling_.activations_max)) {
        if (!is_owing()) return std::nullopt;
        do_weight_pass();
      }
    }
    while (is_owing() && is_gap(ready)) do_weight_pass();
    free_at_ = std::max(free_at_, ready);
    if (filling_.give_up - work_left_ < free_at_.since_start()) return std::nullopt;
    append(pass);
    if (pass.kind == PassKind::backward_input) owed_.push_back({PassKind::backward_weight, pass.microbatch, pass.chunk});
    return free_at_;
  }

  std::vector<PipelinePass> finish() {
    while (is_owing()) do_weight_pass();
    return std::move(passes_);
  }

 private:
  bool is_owing() const { return done_ < owed_.size(); }
  bool is_gap(Time ready) const {
    if (ready <= free_at_) return false;
    const Duration weight = pass_duration(sizes_, PassKind::backward_weight, owed_[done_].chunk);
    return static_cast<double>((ready - free_at_).in_ticks()) >= filling_.least_gap * static_cast<double>(weight.in_ticks());
  }
  void do_weight_pass() { append(owed_[done_++]); }
  void append(const PipelinePass& pass) {
    const Duration takes = pass_duration(sizes_, pass.kind, pass.chunk);
    free_at_ += takes;
    work_left_ -= takes;
    held_.add(pass.kind);
    passes_.push_back(pass);
  }

  const PipelineSizes& sizes_;
  const WeightFilling& filling_;
  std::vector<PipelinePass> passes_;
  std::vector<PipelinePass> owed_;  ///< W passes, of which done_ are done
  std::size_t done_ = 0;
  Time free_at_;
  Duration work_left_;
  HeldActivations held_;
};

}  // namespace

std::optional<PipelineOrder> fill_weight_passes(const PipelineSizes& sizes, const PipelineOrder& order,
                                                const WeightFilling& filling) {
  PassTimes times(sizes, order.placement);
  std::vector<FilledDevice> devices(order.devices.size(), FilledDevice(sizes, filling));
  std::vector<std::size_t> next(order.devices.size());
  bool is_moving = true;
  while (is_moving) {
    is_moving = false;
    for (std::uint32_t device = 0; device < order.devices.size(); ++device) {
      while (next[device] < order.devices[device].size()) {
        const PipelinePass& pass = order.devices[device][next[device]];
        const std::optional<Time> ready = times.ready(device, pass);
        if (!ready) break;
        const std::optional<Time> end = devices[device].add(pass, *ready);
        if (!end) return std::nullopt;
        times.set_end(device, pass, *end);
        ++next[device];
        is_moving = true;
      }
    }
  }
  PipelineOrder filled{order.placement, {}};
  for (std::uint32_t device = 0; device < order.devices.size(); ++device) {
    if (next[device] < order.devices[device].size()) return std::nullopt;
    filled.devices.push_back(devices[device].finish());
  }
  return filled;
}

}  // namespace weft
