// SPDX-License-Identifier: Apache-2.0
// A run's folder: which transfers are listed how.
#include "tools/results/folder_sink.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <filesystem>
#include <string>

#include "tests/validation/scenario_run.hpp"

namespace weft::folder_sink_test {
namespace {

constexpr std::uint64_t listed_max = 1000;

/// Hands `transfers` transfers of ten endpoints to a folder; of a list if `is_list`.
RunSummary fill(const std::filesystem::path& path, FlowListing listing, std::uint64_t transfers, bool is_list = false) {
  FolderContents contents;
  contents.flows = listing;
  contents.flows_listed_max = listed_max;
  FolderSink folder(path, {}, contents);
  folder.begin();
  FlowRow row;
  row.job = "train";
  row.op = "sum";
  row.source = "host0";
  row.size = Bytes::of(1000);
  row.end = Time::zero() + Duration::us(1);
  row.completion = Duration::us(1);
  for (std::uint64_t i = 0; i < transfers; ++i) {
    const std::string destination = "host" + std::to_string(i % 10);
    row.flow = i;
    row.destination = destination;
    if (is_list) row.input_row = i;
    folder.add_flow(row);
  }
  RunSummary summary;
  summary.notes = folder.complete();
  folder.finish(summary);
  return summary;
}

std::string unpacked(const std::filesystem::path& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::array<char, 4096> buffer;
  for (int n = 0; (n = gzread(file, buffer.data(), buffer.size())) > 0;) text.append(buffer.data(), static_cast<std::size_t>(n));
  gzclose(file);
  return text;
}

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(FolderSink, ListsEachTransferUpToALimit) {
  const ScratchFolder scratch;
  const RunSummary summary = fill(scratch.path() / "out", FlowListing::automatic, listed_max);
  EXPECT_TRUE(summary.notes.empty());
  EXPECT_EQ(read_table(scratch.path() / "out/flows.csv").size(), listed_max);
}

// One more: a row for all, whose multiplicity is their number, and a note says so.
TEST(FolderSink, ListsClassesOfTransfersAboveIt) {
  const ScratchFolder scratch;
  const RunSummary summary = fill(scratch.path() / "out", FlowListing::automatic, listed_max + 1);
  const Table rows = read_table(scratch.path() / "out/flows.csv");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("multiplicity"), std::to_string(listed_max + 1));
  EXPECT_EQ(rows[0].at("fct_p99_ns"), "1000");
  ASSERT_EQ(summary.notes.size(), 1U);
  EXPECT_NE(summary.notes[0].find("lists 1001 transfers by class"), std::string::npos) << summary.notes[0];
}

TEST(FolderSink, ListsEachTransferOfAListAndWhereToldTo) {
  const ScratchFolder scratch;
  fill(scratch.path() / "list", FlowListing::automatic, listed_max + 5, true);
  EXPECT_EQ(read_table(scratch.path() / "list/flows.csv").size(), listed_max + 5);
  fill(scratch.path() / "whole", FlowListing::whole, listed_max + 5);
  EXPECT_EQ(read_table(scratch.path() / "whole/flows.csv").size(), listed_max + 5);
}

TEST(FolderSink, PackedTablesAreTheSameTables) {
  const ScratchFolder scratch;
  fill(scratch.path() / "whole", FlowListing::whole, 20'000);
  fill(scratch.path() / "packed", FlowListing::packed, 20'000);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "packed/flows.csv"));
  const std::filesystem::path packed = scratch.path() / "packed/flows.csv.gz";
  EXPECT_EQ(unpacked(packed), content(scratch.path() / "whole/flows.csv"));
  EXPECT_LT(std::filesystem::file_size(packed) * 5, std::filesystem::file_size(scratch.path() / "whole/flows.csv"));
}

TEST(FolderSink, LeavesTransfersOut) {
  const ScratchFolder scratch;
  fill(scratch.path() / "out", FlowListing::none, 100);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "out/flows.csv"));
  EXPECT_TRUE(std::filesystem::exists(scratch.path() / "out/links.csv"));
}

}  // namespace
}  // namespace weft::folder_sink_test
