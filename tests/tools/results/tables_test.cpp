// SPDX-License-Identifier: Apache-2.0
#include "tools/results/tables.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weft::tables_test {
namespace {

// Scripts read columns by name and by place: a new one goes to the end.
TEST(Tables, BeginWithTheColumnsThatScriptsRelyOn) {
  EXPECT_TRUE(header_line<FlowRow>().starts_with("flow_id,job,src,dst,size_bytes,start_ns,end_ns,fct_ns,ideal_fct_ns,slowdown"));
  EXPECT_TRUE(header_line<JobRow>().starts_with(
      "job,gpus,submit_s,start_s,end_s,wait_s,run_s,jct_s,iterations,mean_iteration_s,exposed_comm_s,restarts,preemptions,"
      "placement"));
  EXPECT_TRUE(
      header_line<LinkRow>().starts_with("link,src,dst,rate_bps,bytes,mean_utilization,peak_queue_bytes,ecn_marks,pause_ns,drops"));
}

TEST(Tables, SayWhatTheirColumnsMean) {
  std::set<std::string_view> files;
  for (const TableDescription& table : all_tables()) {
    EXPECT_TRUE(files.insert(table.info.file).second) << table.info.file;
    EXPECT_TRUE(table.info.meaning.ends_with(".")) << table.info.file;
    std::set<std::string_view> names;
    for (const ColumnInfo& column : table.columns) {
      EXPECT_TRUE(names.insert(column.name).second) << table.info.file << " " << column.name;
      EXPECT_FALSE(column.meaning.empty()) << column.name;
      EXPECT_FALSE(column.meaning.ends_with(".")) << column.name;
    }
  }
}

// A unit stands last in the name of its column.
TEST(Tables, NameTheUnitsOfTheirColumns) {
  const auto ending = [](std::string_view unit) -> std::string {
    if (unit == "1/s") return "_per_s";
    if (unit == "Gbps") return "_gbps";
    if (unit == "GB/s") return "_gbytes_per_s";
    return unit == "bytes" ? "bytes" : "_" + std::string(unit);
  };
  for (const TableDescription& table : all_tables()) {
    for (const ColumnInfo& column : table.columns) {
      if (column.unit.empty()) {
        EXPECT_FALSE(column.name.ends_with("_s") || column.name.ends_with("_ns") || column.name.ends_with("_bps")) << column.name;
      } else {
        EXPECT_TRUE(column.name.ends_with(ending(column.unit))) << column.name << " in " << column.unit;
      }
    }
  }
}

TEST(Tables, ShowRowsInTheUnitsOfTheirColumns) {
  FlowRow row;
  row.flow = 3;
  row.source = "host0.gpu0";
  row.size = Bytes::of(1000);
  row.start = Time::zero() + Duration::us(1);
  row.end = Time::zero() + Duration::us(3);
  row.completion = row.end - row.start;
  row.ideal = Duration::us(1);
  row.slowdown = 2;
  const auto cell = [&row](std::string_view name) {
    for (const Column<FlowRow>& column : TableOf<FlowRow>::columns()) {
      if (column.info.name == name) return column.cell(row);
    }
    return Cell();
  };
  EXPECT_EQ(cell("flow_id"), Cell(std::uint64_t{3}));
  EXPECT_EQ(cell("src"), Cell(std::string_view("host0.gpu0")));
  EXPECT_EQ(cell("size_bytes"), Cell(std::int64_t{1000}));
  EXPECT_EQ(cell("fct_ns"), Cell(Duration::us(2)));
  EXPECT_EQ(cell("slowdown"), Cell(2.0));
  JobRow job;
  job.submit = Time::zero() + Duration::s(5);
  EXPECT_EQ(TableOf<JobRow>::columns()[2].cell(job), Cell(5.0));
  EXPECT_EQ(TableOf<JobRow>::columns()[3].cell(job), Cell()) << "it never started";
}

}  // namespace
}  // namespace weft::tables_test
