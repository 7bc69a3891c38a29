// SPDX-License-Identifier: Apache-2.0
// GPUs of clusters.
#include "host/op_times/cluster_gpu.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/text/diagnostics.hpp"
#include "host/op_times/gpu.hpp"
#include "topologies/builders/server_presets.hpp"

namespace weft::cluster_gpu_test {

namespace {

const SourcePlace place = SourcePlace::named("test");
const std::string presets = std::string(WEFT_SOURCE_DIR) + "/topologies/presets/";

}  // namespace

TEST(ClusterGpu, EveryServerHasAGpuOfThePresets) {
  for (const ModuleInfo& server : server_presets()) {
    const std::string gpu(gpu_of_server(server.name));
    ASSERT_FALSE(gpu.empty()) << server.name;
    EXPECT_NO_THROW(gpu_named(gpu, place)) << server.name;
  }
  EXPECT_EQ(gpu_of_server("custom"), "");
}

TEST(ClusterGpu, IsNamedInAWord) {
  const ClusterGpu server = cluster_gpu("gb200_nvl72", place);
  EXPECT_EQ(server.gpu, "gb200");
  EXPECT_EQ(server.gpus_per_host, 72U);
  EXPECT_EQ(server.gpus, 0U);
  const ClusterGpu gpu = cluster_gpu("mi355x", place);
  EXPECT_EQ(gpu.gpu, "mi355x");
  EXPECT_EQ(gpu.server, "");
}

TEST(ClusterGpu, IsThatOfATopology) {
  const ClusterGpu named = cluster_gpu(presets + "mi355x_8.textproto", place);
  EXPECT_EQ(named.gpu, "mi355x");
  EXPECT_EQ(named.gpus, 8U);
  EXPECT_EQ(named.gpus_per_host, 8U);
  // It gives the numbers of its servers, and not their name.
  const ClusterGpu unnamed = cluster_gpu(presets + "rail_128_h100.textproto:weft", place);
  EXPECT_EQ(unnamed.gpu, "");
  EXPECT_EQ(unnamed.gpus, 128U);
}

TEST(ClusterGpu, IsSuggestedWhereItIsMisspelt) {
  try {
    cluster_gpu("hgx_h10", place);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "unknown-cluster");
    EXPECT_NE(error.diagnostics().front().help.find("hgx_h100"), std::string::npos);
  }
}

}  // namespace weft::cluster_gpu_test
