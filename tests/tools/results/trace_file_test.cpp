// SPDX-License-Identifier: Apache-2.0
// trace.json: every track says which rank it is, and for how many it stands where ranks were
// folded.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/validation/scenario_run.hpp"
#include "tools/simulation/run.hpp"
#include "tools/simulation/scenario/scenario.hpp"

namespace weft::trace_file_test {
namespace {

namespace fs = std::filesystem;

/// Runs with --trace.
void run_traced(const RunFlags& flags, const RunOptions& options, const fs::path& out) {
  const Scenario scenario = load_scenario(flags);
  FolderContents contents = folder_contents(scenario);
  contents.trace = true;
  contents.link_samples = options.sample_links.has_value();
  FolderSink folder(out, manifest_of(scenario, options), contents);
  const RunSummary summary = finish_run(scenario, folder, options).summary;
  folder.complete();
  folder.finish(summary);
}

/// Names of the tracks of a run in which four ranks compute and reduce on one switch.
std::set<std::string> track_names(const std::string& fold_ranks) {
  const fs::path folder = fs::temp_directory_path() / ("weft_trace_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "work.textproto")
      << "ranks: 4\n"
         "role { name: \"all\"\n"
         "  op { name: \"fwd\" compute { duration: \"1us\" } }\n"
         "  op { name: \"sum\" collective { type: ALL_REDUCE size: \"1MiB\" } deps: \"fwd\" }\n"
         "}\n";
  std::ofstream(folder / "s.textproto") << "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } }\n"
                                           "job { workload { file: \"work.textproto\" } }\n";
  RunFlags flags;
  flags.scenario_file = (folder / "s.textproto").string();
  flags.settings = {"host.fold_ranks=" + fold_ranks};
  run_traced(flags, {}, folder / "out");
  std::ifstream file(folder / "out" / "trace.json");
  std::set<std::string> names;
  const auto trace = nlohmann::json::parse(file);
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") != "thread_name") continue;
    const std::string name = event.at("args").at("name");
    if (name.starts_with("rank")) names.insert(name);
  }
  fs::remove_all(folder);
  return names;
}

TEST(Trace, TracksAreNamedAfterTheirRanks) {
  EXPECT_EQ(track_names("off"), (std::set<std::string>{"rank 0", "rank 0 communication", "rank 1", "rank 1 communication", "rank 2",
                                                       "rank 2 communication", "rank 3", "rank 3 communication"}));
}

// Tracks of folded runs had no names, so that a trace of one track looked like a run of one rank.
TEST(Trace, TracksOfFoldedRunsSayForHowManyTheyStand) {
  // On one switch all four ranks of a ring are alike.
  EXPECT_EQ(track_names("on"), (std::set<std::string>{"rank 0 (for 4 alike)", "rank 0 communication (for 4 alike)"}));
}

// Counters of a link say what samples do, and are back to zero in the end.
TEST(Trace, SamplesOfLinksAreCounters) {
  const fs::path folder = fs::temp_directory_path() / ("weft_counters_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "flow.txt") << "2\n0 1 3 100 1000000 0\n2 1 3 100 1000000 0\n";
  std::ofstream(folder / "net.textproto") << "builder: \"single_switch\" set { name: \"hosts\" value: \"4\" }\n";
  RunFlags flags;
  flags.topology = (folder / "net.textproto").string();
  flags.flows = (folder / "flow.txt").string() + ":hpcc";
  flags.mode = "packet";
  RunOptions options;
  options.sample_links = Duration::us(5);
  run_traced(flags, options, folder / "out");
  std::ifstream file(folder / "out" / "trace.json");
  std::map<std::string, double> last, most;
  const auto trace = nlohmann::json::parse(file);
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "C") continue;
    const double value = event.at("args").at("value");
    last[event.at("name")] = value;
    most[event.at("name")] = std::max(most[event.at("name")], value);
  }
  fs::remove_all(folder);
  ASSERT_FALSE(last.empty());
  for (const auto& [name, value] : last) EXPECT_EQ(value, 0) << name;
  double fastest = 0;
  double longest = 0;
  for (const auto& [name, value] : most) {
    if (name.ends_with(" Gb/s")) fastest = std::max(fastest, value);
    if (name.ends_with(" queued bytes")) longest = std::max(longest, value);
  }
  EXPECT_NEAR(fastest, 400, 8) << "the link to host 1 is busy throughout an interval, give or take a packet";
  EXPECT_GT(longest, 100'000) << "two senders fill its queue";
}

/// What the format and its viewers ask for: fields of each phase, slices of a track that do not
/// overlap, arrows with both ends inside slices, names for all processes and tracks.
void expect_valid(const nlohmann::json& trace) {
  using Track = std::pair<std::uint64_t, std::uint64_t>;
  std::set<std::uint64_t> processes;
  std::set<Track> tracks;
  std::map<Track, std::vector<std::pair<double, double>>> slices;
  std::map<std::uint64_t, std::vector<nlohmann::json>> arrows;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    const std::uint64_t process = event.at("pid");
    EXPECT_TRUE(event.at("name").is_string());
    if (phase == "M") {
      const bool is_process = event.at("name") == "process_name";
      EXPECT_FALSE(event.at("args").at("name").get<std::string>().empty());
      EXPECT_TRUE(is_process ? processes.insert(process).second : tracks.emplace(process, event.at("tid")).second);
      continue;
    }
    EXPECT_TRUE(processes.contains(process)) << event;
    EXPECT_GE(event.at("ts").get<double>(), 0);
    if (phase == "C") {
      EXPECT_TRUE(event.at("args").at("value").is_number());
      continue;
    }
    const Track track(process, event.at("tid"));
    EXPECT_TRUE(tracks.contains(track)) << event;
    if (phase == "X") {
      EXPECT_GE(event.at("dur").get<double>(), 0);
      slices[track].emplace_back(event.at("ts"), event.at("ts").get<double>() + event.at("dur").get<double>());
    } else {
      EXPECT_TRUE(phase == "s" || phase == "f") << event;
      arrows[event.at("id")].push_back(event);
    }
  }
  constexpr double rounding_us = 1e-6;
  for (auto& [track, of_track] : slices) {
    std::ranges::sort(of_track);
    for (std::size_t i = 1; i < of_track.size(); ++i) EXPECT_GE(of_track[i].first, of_track[i - 1].second - rounding_us);
  }
  for (const auto& [id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_EQ(ends[0].at("ph"), "s");
    EXPECT_EQ(ends[1].at("ph"), "f");
    EXPECT_EQ(ends[1].at("bp"), "e");
    EXPECT_LE(ends[0].at("ts").get<double>(), ends[1].at("ts").get<double>());
    for (const auto& end : ends) {
      const double at = end.at("ts");
      EXPECT_TRUE(std::ranges::any_of(slices[{end.at("pid"), end.at("tid")}], [at](const auto& slice) {
        return slice.first - rounding_us <= at && at <= slice.second + rounding_us;
      })) << end;
    }
  }
}

nlohmann::json trace_of(const ScratchFolder& folder, const RunFlags& flags, const RunOptions& options = {}) {
  run_traced(flags, options, folder.path() / "out");
  std::ifstream file(folder.path() / "out" / "trace.json");
  return nlohmann::json::parse(file);
}

std::map<std::string, int> count_by(const nlohmann::json& trace, const std::string& phase, const std::string& field) {
  std::map<std::string, int> counts;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) ++counts[event.at(field).get<std::string>()];
  }
  return counts;
}

/// Two ranks: one computes on two streams of its own at a time and sends 1 MB to the other.
RunFlags pipeline(const ScratchFolder& folder, const std::string& mode) {
  const std::string work = folder.write("work.textproto",
                                        "ranks: 2\n"
                                        "role { name: \"front\" ranks: \"0\"\n"
                                        "  op { name: \"a\" compute { duration: \"10us\" } stream: 1 }\n"
                                        "  op { name: \"b\" compute { duration: \"10us\" } stream: 2 }\n"
                                        "  op { name: \"out\" send { peer: 1 size: \"1MB\" } deps: \"a\" }\n"
                                        "}\n"
                                        "role { name: \"back\" ranks: \"1\"\n"
                                        "  op { name: \"in\" receive { peer: 0 size: \"1MB\" } }\n"
                                        "  op { name: \"c\" compute { duration: \"10us\" } deps: \"in\" }\n"
                                        "}\n");
  RunFlags flags;
  flags.mode = mode;
  flags.scenario_file = folder.write("s.textproto",
                                     "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"2\" } }\n"
                                     "job { name: \"pipe\" iterations: 3 workload { file: \"" +
                                         work + "\" } }\n");
  return flags;
}

TEST(Trace, StreamsHaveTracksAndSendsHaveArrows) {
  for (const char* const mode : {"flow", "packet"}) {
    const ScratchFolder folder;
    const nlohmann::json trace = trace_of(folder, pipeline(folder, mode));
    expect_valid(trace);
    std::set<std::string> tracks;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("name") == "thread_name") tracks.insert(event.at("args").at("name"));
    }
    for (const char* const track : {"rank 0 stream 1", "rank 0 stream 2", "rank 0 communication", "rank 1 communication"})
      EXPECT_TRUE(tracks.contains(track)) << track;
    EXPECT_EQ(count_by(trace, "s", "name"), (std::map<std::string, int>{{"message", 3}})) << "one an iteration";
  }
}

// Ops without streams may overlap in part: viewers drop such slices, so they get lanes.
TEST(Trace, OpsThatOverlapGetLanes) {
  const ScratchFolder folder;
  const std::string work = folder.write("work.textproto",
                                        "ranks: 4\nrole { name: \"all\"\n"
                                        "  op { name: \"x\" collective { type: ALL_REDUCE size: \"1MB\" } }\n"
                                        "  op { name: \"y\" collective { type: ALL_REDUCE size: \"3MB\" } }\n"
                                        "  op { name: \"z\" collective { type: ALL_REDUCE size: \"1MB\" } deps: \"x\" }\n}\n");
  RunFlags flags;
  flags.scenario_file = folder.write("s.textproto",
                                     "topology { builder: \"single_switch\" set { name: \"hosts\" value: \"4\" } }\n"
                                     "job { workload { file: \"" +
                                         work + "\" } }\n");
  const nlohmann::json trace = trace_of(folder, flags);
  expect_valid(trace);
  EXPECT_EQ(count_by(trace, "X", "cat")["all_reduce"], 12);
}

TEST(Trace, TransfersOfAListAreSlicesOfTheirSource) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("net.textproto", "builder: \"single_switch\" set { name: \"hosts\" value: \"4\" }\n");
  flags.flows = folder.write("flow.txt", "3\n0 1 3 100 4000 0\n0 2 3 100 400000 0\n3 1 3 100 4000 0.001\n") + ":hpcc";
  const nlohmann::json trace = trace_of(folder, flags);
  expect_valid(trace);
  EXPECT_EQ(count_by(trace, "X", "cat"), (std::map<std::string, int>{{"transfer", 3}}));
}

// 2 kB hold a few slices: the rest is left out by time, and the file stays whole.
TEST(Trace, KeepsToItsSize) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "trace.json";
  TraceFile trace(path, {.bytes_max = 2000});
  OpRow row;
  row.job = "train";
  row.job_id = JobId(0);
  row.op = "step";
  row.kind = "compute";
  row.is_compute = true;
  for (int i = 0; i < 1000; ++i) {
    row.start = Time::zero() + Duration::ms(i);
    row.end = row.start + Duration::us(500);
    trace.add_op(row);
  }
  trace.close();
  ASSERT_EQ(trace.notes().size(), 1U);
  std::filesystem::rename(path.string() + ".partial", path);
  EXPECT_LE(std::filesystem::file_size(path), 2100U);
  std::ifstream file(path);
  const nlohmann::json written = nlohmann::json::parse(file);
  expect_valid(written);
  const int slices = count_by(written, "X", "cat")["compute"];
  EXPECT_GT(slices, 5);
  EXPECT_NE(trace.notes()[0].find(fmt::format("from {} ms on", slices)), std::string::npos) << trace.notes()[0];
}

// Of 10 ranks 4 are drawn: 0, 2.5, 5 and 7.5, rounded down. Ranks that stand for others
// are drawn in any case, as are those of a job of few.
TEST(Trace, DrawsRanksThatAreSpreadEvenly) {
  const ScratchFolder folder;
  const std::filesystem::path path = folder.path() / "trace.json";
  TraceFile trace(path, {.ranks_max = 4});
  const auto add = [&](const char* job, std::uint32_t number, std::uint32_t ranks, std::uint32_t alike) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      OpRow row;
      row.job = job;
      row.job_id = JobId(number);
      row.rank = rank;
      row.ranks_alike = alike;
      row.job_ranks = ranks;
      row.op = "step";
      row.kind = "compute";
      row.is_compute = true;
      row.end = row.start + Duration::us(1);
      trace.add_op(row);
    }
  };
  add("large", 0, 10, 1);
  add("small", 1, 4, 1);
  add("folded", 2, 5, 2);
  trace.close();
  std::filesystem::rename(path.string() + ".partial", path);
  std::ifstream file(path);
  std::set<std::string> large;
  std::map<int, int> tracks;
  const auto written = nlohmann::json::parse(file);
  for (const auto& event : written.at("traceEvents")) {
    if (event.at("name") != "thread_name") continue;
    ++tracks[event.at("pid")];
    if (event.at("pid") == 1) large.insert(event.at("args").at("name"));
  }
  EXPECT_EQ(large, (std::set<std::string>{"rank 0", "rank 2", "rank 5", "rank 7"}));
  EXPECT_EQ(tracks, (std::map<int, int>{{1, 4}, {2, 4}, {3, 5}}));
  EXPECT_EQ(trace.notes(), std::vector<std::string>{"trace.json draws 4 of the 10 ranks of large; --trace-ranks=10 draws all"});
}

}  // namespace
}  // namespace weft::trace_file_test
