// SPDX-License-Identifier: Apache-2.0
// Slurm's notations, each as some version of Slurm writes it.
#include "workloads/slurm/slurm_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::slurm_text_test {
namespace {

using Names = std::vector<std::string>;

TEST(HostList, KeepsZerosAndMultipliesBrackets) {
  EXPECT_EQ(parse_host_list("gpu[001-003,007],login"), (Names{"gpu001", "gpu002", "gpu003", "gpu007", "login"}));
  EXPECT_EQ(parse_host_list("r[1-2]n[9-10]"), (Names{"r1n9", "r1n10", "r2n9", "r2n10"}));
  EXPECT_EQ(parse_host_list("gpu[1]-ib"), (Names{"gpu1-ib"}));
  EXPECT_EQ(parse_host_list(""), Names{});
}

TEST(HostList, RefusesWhatIsNone) {
  for (const char* text : {"gpu[001-", "gpu[3-1]", "gpu[a-b]", "gpu]1[", "gpu[]", ",", "gpu[1-2000000]", "a[1-9999]b[1-9999]"})
    EXPECT_FALSE(parse_host_list(text)) << text;
}

TEST(HostList, IsWrittenAsItIsRead) {
  for (const char* text : {"gpu[001-003,007]", "gpu7", "login", "a1,b[1-2],a3", "n[9-10]", "n9,n[010-011]"}) {
    const std::optional<Names> names = parse_host_list(text);
    ASSERT_TRUE(names) << text;
    EXPECT_EQ(parse_host_list(to_host_list(*names)), names) << to_host_list(*names);
  }
  EXPECT_EQ(to_host_list(Names{"gpu001", "gpu002", "gpu003", "gpu007"}), "gpu[001-003,007]");
  EXPECT_EQ(to_host_list(Names{"login"}), "login");
}

TEST(Resources, CountGpusOnce) {
  // The entry without a type counts all types: 16, not 32.
  EXPECT_EQ(gpus_in_resources("cpu=2,mem=2M,billing=2,gres/gpu=16,gres/gpu:h100=16"), 16U);
  EXPECT_EQ(gpus_in_resources("gres/gpu:h100=4,gres/gpu:a100=2"), 6U);
  EXPECT_EQ(gpus_in_resources("gres:gpu:h100:8"), 8U);
  EXPECT_EQ(gpus_in_resources("gpu:a100:4(S:0-1),gpu:v100:2(S:0,2)"), 6U);
  EXPECT_EQ(gpus_in_resources("gpu"), 1U);
  EXPECT_EQ(gpus_in_resources("gpu:h100"), 1U);
  EXPECT_EQ(gpus_in_resources("gres/gpumem=80G,gres/shard=4"), 0U);
  EXPECT_EQ(gpus_in_resources(""), 0U);
  for (const char* text : {"gres/gpu=many", "gpu:h100:x", "gres/gpu=99999999999", "gres/gpu="})
    EXPECT_FALSE(gpus_in_resources(text)) << text;
}

TEST(Resources, TellIndices) {
  EXPECT_EQ(gpu_indices("gpu:h100:3(IDX:0-1,5)"), (std::vector<std::uint32_t>{0, 1, 5}));
  EXPECT_TRUE(gpu_indices("gpu:h100:3(IDX:N/A)").empty());
  EXPECT_TRUE(gpu_indices("gpu:h100:3").empty());
}

TEST(SlurmDuration, HasDays) {
  EXPECT_EQ(parse_slurm_duration("1-02:03:04"), Duration::s(86400 + 2 * 3600 + 3 * 60 + 4));
  EXPECT_EQ(parse_slurm_duration("00:05.250"), Duration::s(5));
  EXPECT_EQ(parse_slurm_duration("30:00"), Duration::s(1800));
  for (const char* text : {"UNLIMITED", "Partition_Limit", "", "5", "1:2:3:4", "x-00:00:00", "4000-00:00:00"})
    EXPECT_FALSE(parse_slurm_duration(text)) << text;
}

TEST(ArrayTasks, HaveSteps) {
  EXPECT_EQ(parse_array_tasks("1-3,9-13:2%4"), (std::vector<std::uint32_t>{1, 2, 3, 9, 11, 13}));
  for (const char* text : {"3-1", "a", "1-4:0", "0-4294967295"}) EXPECT_FALSE(parse_array_tasks(text)) << text;
}

}  // namespace
}  // namespace weft::slurm_text_test
