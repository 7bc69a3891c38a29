// SPDX-License-Identifier: Apache-2.0
#include "calibration/nccl_tests.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/error_code.hpp"

namespace weft::nccl_tests_test {

namespace {

const std::string ranks =
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  12305 on      host1 device  0 [0x07] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid  12305 on      host1 device  1 [0x0a] NVIDIA H100 80GB HBM3\n";
const std::string table =
    "#                                                              out-of-place                       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
    "           0             0     float     sum      -1     0.21    0.00    0.00      0     0.20    0.00    0.00      0\n"
    "     1048576        262144     float     sum      -1    51.40   20.40   20.40      0    52.74   19.88   19.88      0\n"
    "     2097152        524288     float     sum      -1    55.74   37.62   37.62      0    55.94   37.49   37.49    N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 28.8\n";
const std::string starting = "# Collective test starting: alltoall_perf\n";

std::string code_of(const std::string& text, std::string_view kind = "") {
  return error_code_of([&] { read_nccl_tests(SourceText("nccl.txt", text), kind); });
}

}  // namespace

TEST(NcclTests, GiveSizesAndTimesOutOfPlace) {
  const MeasuredTimes measured = read_nccl_tests(SourceText("nccl.txt", ranks + table), "all_reduce");
  EXPECT_EQ(measured.kind, TimedKind::collective);
  ASSERT_EQ(measured.times.size(), 2U);
  EXPECT_EQ(measured.times[0].kind, "all_reduce");
  EXPECT_EQ(measured.times[0].ranks, 2U);
  EXPECT_EQ(measured.times[0].size_bytes, 1048576U);
  EXPECT_DOUBLE_EQ(measured.times[0].time_s, 51.4e-6);
  EXPECT_EQ(measured.times[1].line, 9);
}

TEST(NcclTests, NewerOnesSayWhatTheyMeasure) {
  EXPECT_EQ(read_nccl_tests(SourceText("nccl.txt", starting + ranks + table), "").times[0].kind, "all_to_all");
}

// Runs list an all_gather with a rank's own share; nccl-tests print what each rank has in the end.
TEST(NcclTests, GathersAreOfARanksOwnShare) {
  for (const char* kind : {"all_gather", "gather"})
    EXPECT_EQ(read_nccl_tests(SourceText("nccl.txt", ranks + table), kind).times[0].size_bytes, 524288U) << kind;
  EXPECT_EQ(read_nccl_tests(SourceText("nccl.txt", ranks + table), "reduce_scatter").times[0].size_bytes, 1048576U);
}

TEST(NcclTests, WhatIsMissingIsSaid) {
  EXPECT_EQ(code_of(ranks + table), "missing-kind");
  EXPECT_EQ(code_of(table, "all_reduce"), "no-ranks");
  EXPECT_EQ(code_of(ranks, "all_reduce"), "no-measurements");
  EXPECT_EQ(code_of(ranks + table, "all_reduze"), "unknown-kind");
  EXPECT_EQ(code_of(ranks + "     1048576        262144     float\n", "all_reduce"), "bad-value");
}

}  // namespace weft::nccl_tests_test
