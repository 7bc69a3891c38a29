// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules against published and independently computed figures.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "tests/long_runs.hpp"
#include "tests/workloads/schedules/schedule_testing.hpp"

namespace weft::published_schedules_test {
namespace {

// Step times and peaks of an independent schedule simulator, without transfers. F, B and W are per
// stage; times are in the same unit.
struct SimulatedRow {
  std::uint32_t stages;
  std::uint32_t microbatches;
  std::int64_t forward;
  std::int64_t backward_input;
  std::int64_t backward_weight;
  const char* schedule;
  std::uint32_t chunks;
  std::int64_t step_time;
  double activations_max;
};
constexpr SimulatedRow simulated_rows[] = {
    {4, 8, 1000, 1000, 1000, "1f1b", 1, 33000, 4.0},
    {4, 8, 1000, 1000, 1000, "zb_h1", 1, 27000, 4.0},
    {4, 8, 1000, 1000, 1000, "interleaved_1f1b", 2, 28500, 5.5},
    {4, 8, 1000, 1000, 1000, "interleaved_1f1b", 4, 26250, 4.75},
    {4, 8, 1000, 1000, 1000, "zbv", 2, 25500, 4.0},
    {4, 8, 1000, 1000, 1000, "v_half", 2, 26500, 3.0},
    {4, 8, 1000, 1000, 1000, "v_min", 2, 29500, 2.0},
    {8, 32, 1000, 1000, 1000, "1f1b", 1, 117000, 8.0},
    {8, 32, 1000, 1000, 1000, "zb_h1", 1, 103000, 8.0},
    {8, 32, 1000, 1000, 1000, "interleaved_1f1b", 2, 106500, 11.5},
    {8, 32, 1000, 1000, 1000, "interleaved_1f1b", 4, 101250, 9.75},
    {8, 32, 1000, 1000, 1000, "zbv", 2, 99500, 8.0},
    {8, 32, 1000, 1000, 1000, "v_half", 2, 104500, 5.0},
    {8, 32, 1000, 1000, 1000, "v_min", 2, 109000, 4.0},
    {8, 16, 1000, 1000, 1000, "1f1b", 1, 69000, 8.0},
    {8, 16, 1000, 1000, 1000, "zb_h1", 1, 55000, 8.0},
    {8, 16, 1000, 1000, 1000, "interleaved_1f1b", 2, 58500, 11.5},
    {8, 16, 1000, 1000, 1000, "interleaved_1f1b", 4, 53250, 9.75},
    {8, 16, 1000, 1000, 1000, "zbv", 2, 51500, 8.0},
    {8, 16, 1000, 1000, 1000, "v_half", 2, 56500, 5.0},
    {8, 16, 1000, 1000, 1000, "v_min", 2, 61000, 4.0},
    {4, 16, 1000, 1200, 800, "1f1b", 1, 57000, 4.0},
    {4, 16, 1000, 1200, 800, "zb_h1", 1, 52200, 4.0},
    {4, 16, 1000, 1200, 800, "interleaved_1f1b", 2, 52500, 5.5},
    {4, 16, 1000, 1200, 800, "interleaved_1f1b", 4, 50250, 4.75},
    {4, 16, 1000, 1200, 800, "zbv", 2, 49800, 4.0},
    {4, 16, 1000, 1200, 800, "v_half", 2, 52000, 3.0},
    {4, 16, 1000, 1200, 800, "v_min", 2, 62600, 2.0},
    {8, 32, 1000, 1200, 800, "1f1b", 1, 117000, 8.0},
    {8, 32, 1000, 1200, 800, "zb_h1", 1, 105800, 8.0},
    {8, 32, 1000, 1200, 800, "interleaved_1f1b", 2, 106500, 11.5},
    {8, 32, 1000, 1200, 800, "interleaved_1f1b", 4, 101250, 9.75},
    {8, 32, 1000, 1200, 800, "zbv", 2, 100200, 8.0},
    {8, 32, 1000, 1200, 800, "v_half", 2, 112800, 5.0},
    {8, 32, 1000, 1200, 800, "v_min", 2, 128500, 4.0},
};

TEST(PublishedSchedules, StepTimesAndPeaksOfAnotherSimulator) {
  for (const SimulatedRow& row : simulated_rows) {
    if (short_sanitized_runs() && row.stages > 4) continue;
    const std::string name = row.schedule;
    const PipelineSizes sizes{row.stages,
                              row.microbatches,
                              row.chunks,
                              Duration::us(row.forward),
                              Duration::us(row.backward_input),
                              Duration::us(row.backward_weight),
                              Duration::zero()};
    const PipelineTimeline timeline = schedule_called(name, sizes).timeline;
    SCOPED_TRACE(name + " " + std::to_string(row.stages) + " " + std::to_string(row.microbatches));
    if (name == "v_half" || name == "v_min") {
      // Which block is repeated is a matter of search: no worse.
      EXPECT_LE(timeline.step_time, Duration::us(row.step_time));
      EXPECT_LE(timeline.activations_max, row.activations_max);
    } else {
      EXPECT_EQ(timeline.step_time, Duration::us(row.step_time));
      EXPECT_EQ(timeline.activations_max, row.activations_max);
    }
  }
}

// Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024: profiled times in ms and bubble rates.
// The models have 1.5, 6.2, 14.6 and 28.3 billion parameters.
struct PaperRow {
  std::uint32_t stages;
  std::uint32_t microbatches;
  double forward_ms;
  double backward_input_ms;
  double backward_weight_ms;
  double transfer_ms;
  double of_1f1b;
  double of_interleaved;
  double of_zb_h1;
  double of_zb_h2;
  double of_zb_1p;
  double of_zb_2p;
  std::uint32_t chunks;  ///< of 1F1B-I: the layers of a stage
  double weight_memory;  ///< M_W / M_B = 32 / (34 + 5 a s / h), a s / h = 32/3 or 8
};
constexpr double share_small = 32.0 / (34.0 + 5.0 * 32.0 / 3.0);
constexpr double share_large = 32.0 / (34.0 + 5.0 * 8.0);
constexpr PaperRow paper_rows[] = {
    {8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1055, 0.1585, 0.1083, 0.1585, 0.0433, 3, share_small},
    {8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.0818, 0.1242, 0.0837, 0.1242, 0.0039, 3, share_small},
    {8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0443, 0.0674, 0.0444, 0.0674, 0.0026, 3, share_small},
    {8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.0808, 0.1323, 0.0698, 0.1323, 0.0029, 4, share_large},
    {8, 32, 29.802, 29.428, 19.530, 0.577, 0.1898, 0.0628, 0.1045, 0.0559, 0.1045, 0.0022, 4, share_large},
    {8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0320, 0.0554, 0.0294, 0.0554, 0.0010, 4, share_large},
    {16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1104, 0.1397, 0.0672, 0.1397, 0.0066, 3, share_large},
    {16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.0852, 0.1088, 0.0516, 0.1088, 0.0054, 3, share_large},
    {16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0445, 0.0576, 0.0266, 0.0576, 0.0028, 3, share_large},
    {32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646, 0.1493, 0.1421, 0.0641, 0.1421, 0.0038, 2, share_large},
    {32, 128, 10.408, 10.204, 7.703, 0.408, 0.2168, 0.1164, 0.1106, 0.0490, 0.1106, 0.0029, 2, share_large},
    {32, 256, 10.402, 10.248, 7.698, 0.460, 0.1352, 0.0624, 0.0594, 0.0257, 0.0594, 0.0018, 2, share_large},
};

double bubble(const std::string& name, PipelineSizes sizes, const ScheduleParams& set = {}) {
  return bubble_ratio(sizes, schedule_called(name, sizes, set).timeline.span_max);
}

TEST(PublishedSchedules, BubbleRatesOfTheZeroBubblePaper) {
  const auto ms = [](double value) { return Duration::ticks(std::llround(value * Duration::ticks_per_ms)); };
  // Four decimals are printed.
  constexpr double printed = 0.000051;
  for (const PaperRow& row : paper_rows) {
    if (short_sanitized_runs() && row.stages > 8) continue;
    PipelineSizes sizes{row.stages,          row.microbatches,          1,
                        ms(row.forward_ms),  ms(row.backward_input_ms), ms(row.backward_weight_ms),
                        ms(row.transfer_ms), row.weight_memory};
    SCOPED_TRACE(std::to_string(row.stages) + " " + std::to_string(row.microbatches));
    EXPECT_NEAR(bubble("1f1b", sizes), row.of_1f1b, printed);
    EXPECT_NEAR(bubble("zb_h1", sizes), row.of_zb_h1, printed);
    EXPECT_NEAR(bubble("zb_h2", sizes), row.of_zb_h2, printed);
    EXPECT_NEAR(bubble("zb_auto", sizes, {{"memory", std::to_string(row.stages)}}), row.of_zb_1p, 0.01);
    EXPECT_NEAR(bubble("zb_auto", sizes, {{"memory", std::to_string(2 * row.stages)}}), row.of_zb_2p, 0.01);
    sizes.chunks = row.chunks;
    EXPECT_NEAR(bubble("interleaved_1f1b", sizes), row.of_interleaved, 0.01);
  }
}

}  // namespace
}  // namespace weft::published_schedules_test
