// SPDX-License-Identifier: Apache-2.0
// Hardware configuration: defaults, rates of a GPU, and what is refused.
#include "host/projections/hardware_config.hpp"

#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"

namespace weft::hardware_config_test {
namespace {

std::string refusal(const std::string& text) {
  try {
    read_hardware_config(SourceText("hardware.textproto", text));
  } catch (const InputError& error) {
    std::string all;
    for (const Diagnostic& one : error.diagnostics()) all += one.to_text();
    return all;
  }
  return "accepted";
}

// A card of 400 Gb/s is 50 GB/s; two for four GPUs at 0.8 are 20 GB/s each.
TEST(HardwareConfig, SharesCards) {
  const HardwareConfig hardware = read_hardware_config(SourceText("h", R"(
    name: "two cards" origin: "none" gpus_per_node: 4 nics_per_node: 2 message_overhead: "450ns"
    inside { bandwidth: "1600Gbps" latency: "1us" efficiency: 0.5 }
    between { bandwidth: "400Gbps" latency: "2us" efficiency: 0.8 })"));
  EXPECT_EQ(hardware.name, "two cards");
  EXPECT_EQ(hardware.origin, "none");
  EXPECT_DOUBLE_EQ(hardware.inside_of_gpu().bytes_per_s, 100e9);
  EXPECT_DOUBLE_EQ(hardware.inside_of_gpu().latency_s, 1e-6);
  EXPECT_DOUBLE_EQ(hardware.between_of_gpu().bytes_per_s, 20e9);
  EXPECT_DOUBLE_EQ(hardware.between_of_gpu().latency_s, 2e-6);
  EXPECT_EQ(hardware.message_overhead, Duration::ns(450));
}

TEST(HardwareConfig, Defaults) {
  const HardwareConfig hardware =
      read_hardware_config(SourceText("h", R"(inside { bandwidth: "80Gbps" } between { bandwidth: "8Gbps" } gpus_per_node: 16)"));
  EXPECT_EQ(hardware.name, "h");
  EXPECT_EQ(hardware.nics_per_node, 16U);
  EXPECT_DOUBLE_EQ(hardware.inside_of_gpu().bytes_per_s, 10e9);
  EXPECT_DOUBLE_EQ(hardware.between_of_gpu().bytes_per_s, 1e9);
  EXPECT_DOUBLE_EQ(hardware.inside_of_gpu().latency_s, 0);
}

TEST(HardwareConfig, NamesEveryMistake) {
  const std::string all = refusal(R"(gpus_per_node: 70000 message_overhead: "2s"
    inside { bandwidth: "fast" latency: "-1us" efficiency: 1.5 })");
  for (const char* part :
       {"gpus_per_node = 70000 is more than 65536 [out-of-range]", "between has no bandwidth [missing-field]", "[bad-value]",
        "zero or more", "efficiency = 1.5 is not from 0.01 to 1", "message_overhead = 2s is more than 1s"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
  EXPECT_NE(refusal("inside { bandwidth: \"1bps\" } between { latency: \"1us\" }").find("is less than 1Mbps"), std::string::npos);
  EXPECT_NE(refusal("links: 4").find("links"), std::string::npos);
}

}  // namespace
}  // namespace weft::hardware_config_test
