// SPDX-License-Identifier: Apache-2.0
// Inputs that are no files, that lie about what they hold or that are one long line: refused or
// read, within bounds of memory and time.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <zlib.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "tests/tools/weft/weft_process.hpp"
#include "workloads/dag/dag.hpp"
#include "workloads/workload.pb.h"

namespace weft::input_files_test {
namespace {

namespace fs = std::filesystem;

#if WEFT_SANITIZED
/// Sanitizers reserve terabytes of addresses, and take several times as long.
const std::map<int, rlim_t> kGigabyte = {};
const std::map<int, rlim_t> kSeconds = {};
#else
const std::map<int, rlim_t> kGigabyte = {{RLIMIT_AS, 1U << 30}};
const std::map<int, rlim_t> kSeconds = {{RLIMIT_CPU, 10}, {RLIMIT_AS, 1U << 30}};
#endif

const std::vector<std::vector<std::string>>& commands_that_read(const std::string& file) {
  static std::vector<std::vector<std::string>> commands;
  commands = {{"run", file},
              {"check", file},
              {"topology", "show", file},
              {"topology", "show", file + ":hpcc"},
              {"workload", "show", file},
              {"workload", "show", file + ":goal"},
              {"workload", "show", file + ":kineto"},
              {"run", "--jobs=" + file + ":philly", "--hosts=2"},
              {"run", "--flows=" + file + ":hpcc", "--topology=" + file + ":hpcc"},
              {"predict", file, "--drain=host0"}};
  return commands;
}

TEST(InputFiles, WhatIsNoFileIsRefusedAtOnceByWhatItIs) {
  const TestFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe.pb").c_str(), 0600), 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folder / "socket.pb").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"pipe.pb", "this is a pipe, a regular file is needed [not-a-file]"},
      {"socket.pb", "this is a socket, a regular file is needed [not-a-file]"},
      {"/dev/zero", "this is a character device, a regular file is needed [not-a-file]"}};
  for (const auto& [file, message] : cases) {
    for (const std::vector<std::string>& command : commands_that_read(file)) {
      SCOPED_TRACE(file + " " + command[0] + " " + command[1]);
      const WeftAnswer answer = run_weft({folder.path(), kSeconds}, command);
      EXPECT_EQ(answer.status, 2);
      EXPECT_NE(answer.errors.find(message), std::string::npos) << answer.errors;
    }
  }
  close(listener);
}

TEST(InputFiles, StandardInputIsNamedByADash) {
  const TestFolder folder;
  folder.write("work.textproto", "ranks: 2\nrole { name: \"r\" op { name: \"c\" compute { duration: \"10us\" } } }\n");
  folder.write("jobs.csv", "job,submit_s,gpus,run_s\na,0,2,5\nb,1,2,5\n");
  const auto piped = [&](const std::string& file, const std::string& words) {
    const std::string command =
        "cd " + folder.path().string() + " && cat " + file + " | " + WEFT_PROGRAM + " " + words + " 2>&1 >/dev/null";
    return WEXITSTATUS(std::system(command.c_str()));
  };
  EXPECT_EQ(piped("work.textproto", "workload show -"), 0);
  EXPECT_EQ(piped("work.textproto", "check -"), 0);
  EXPECT_EQ(piped("jobs.csv", "run --jobs=-:weft --hosts=2 --out=out --quiet"), 0);
  // What was read is what the manifest's hash is of.
  ASSERT_EQ(run_weft({folder.path()}, {"run", "--jobs=jobs.csv:weft", "--hosts=2", "--out=file", "--quiet"}).status, 0);
  const auto hash_of = [&](const std::string& out) {
    const std::string manifest = content(folder / (out + "/manifest.json"));
    return manifest.substr(manifest.find("\"sha256\""), 80);
  };
  EXPECT_EQ(hash_of("out"), hash_of("file"));
}

TEST(InputFiles, WaitingForStandardInputEndsWithASignal) {
  const TestFolder folder;
  for (const int signal : {SIGINT, SIGTERM}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(ends[0], STDIN_FILENO);
      execl(WEFT_PROGRAM, WEFT_PROGRAM, "check", "-", nullptr);
      _exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    close(ends[0]);
    close(ends[1]);
  }
}

TEST(InputFiles, AGzipFileUnpacksToNoMoreThanItMay) {
  const TestFolder folder;
  const gzFile file = gzopen((folder / "bomb.csv.gz").c_str(), "wb9");
  const std::string blanks(1 << 20, ' ');
  for (int i = 0; i < 64; ++i) gzwrite(file, blanks.data(), static_cast<unsigned>(blanks.size()));
  gzclose(file);
  for (const char* format : {":goal", ":kineto"}) {
    const WeftAnswer answer =
        run_weft({folder.path(), kGigabyte}, {"workload", "show", std::string("bomb.csv.gz") + format, "--unpacked-max=32MiB"});
    EXPECT_EQ(answer.status, 2);
    EXPECT_NE(answer.errors.find("bomb.csv.gz: error: the compressed file unpacks to more than 32MiB [too-large]\n"
                                 "  help: if it should, allow more with --unpacked-max=SIZE"),
              std::string::npos)
        << answer.errors;
  }
  // A plain file of that size is what it is.
  folder.write("plain.csv", std::string(33 << 20, ' '));
  EXPECT_EQ(run_weft({folder.path(), kGigabyte}, {"workload", "show", "plain.csv:kineto", "--unpacked-max=32MiB"})
                .errors.find("[too-large]"),
            std::string::npos);
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80U);
  return bytes + static_cast<char>(value);
}

std::string field(int number, const std::string& bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2U) + varint(bytes.size()) + bytes;
}

// 100 pieces of 1,048,576 ops each that hold nothing: 7 GB of ops before counts were held against
// the bytes that they come in.
TEST(InputFiles, OpsThatTakeNoBytesAreRefused) {
  const TestFolder folder;
  const std::string ops = varint(workload_file::PackedOps::kOpCountFieldNumber << 3) + varint(1U << 20);
  workload_file::Workload header;
  header.set_ranks(2);
  header.add_role()->set_name("r");
  header.mutable_role(0)->set_packed_op_count(100U << 20);
  std::string file = header.SerializeAsString();
  for (int i = 0; i < 100; ++i) file += field(workload_file::Workload::kPackedOpsFieldNumber, ops);
  folder.write("small.pb", file);
  EXPECT_LT(file.size(), 1000u);
  const WeftAnswer answer = run_weft({folder.path(), kGigabyte}, {"workload", "show", "small.pb"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_NE(answer.errors.find("are 1048576 in 4 bytes [bad-piece]"), std::string::npos) << answer.errors;
}

TEST(InputFiles, ManyErrorsOnOneLineTakeLittleMemoryAndTime) {
  const TestFolder folder;
  std::string jobs = "topology { builder: \"single_switch\" }";
  for (int i = 0; i < 50'000; ++i) jobs += fmt::format(" job {{ name: \"j{}\" gpus: 3 duration: \"x\" }}", i);
  folder.write("jobs.textproto", jobs);
  const WeftAnswer answer = run_weft({folder.path(), kSeconds}, {"check", "jobs.textproto"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_NE(answer.errors.find("more errors are not shown [too-many-errors]"), std::string::npos) << answer.errors;
}

TEST(InputFiles, OneLongLineIsReadInTimeLinearInIt) {
  const TestFolder folder;
  // Quadratic, as they were, these take minutes.
  std::string ops = "ranks: 2 role { name: \"r\"";
  std::string cycle = ops;
  constexpr int count = 100'000;
  for (int i = 0; i < count; ++i) {
    const std::string op = fmt::format(" op {{ name: \"o{}\" compute {{ duration: \"1us\" }} deps: \"o", i);
    ops += i == 0 ? " op { name: \"o0\" compute { duration: \"1us\" } }" : fmt::format("{}{}\" }}", op, i - 1);
    cycle += fmt::format("{}{}\" }}", op, (i + count - 1) % count);
  }
  folder.write("ops.textproto", ops + " }");
  std::string tabs = ops + " }";
  for (char& c : tabs) c = c == ' ' ? '\t' : c;
  folder.write("tabs.textproto", tabs);
  folder.write("cycle.textproto", cycle + " }");
  std::string header = "job,submit_s,gpus,run_s";
  for (int i = 0; i < 1'000'000; ++i) header += ",c" + std::to_string(i);
  folder.write("columns.csv", header + "\n");
  EXPECT_EQ(run_weft({folder.path(), kSeconds}, {"workload", "show", "ops.textproto"}).status, 0);
  EXPECT_EQ(run_weft({folder.path(), kSeconds}, {"workload", "show", "tabs.textproto"}).status, 0);
  const WeftAnswer circle = run_weft({folder.path(), kSeconds}, {"workload", "show", "cycle.textproto"});
  EXPECT_EQ(circle.status, 2) << circle.errors.substr(0, 1000);
  const WeftAnswer columns = run_weft({folder.path(), kSeconds}, {"run", "--jobs=columns.csv:weft", "--hosts=2"});
  EXPECT_EQ(columns.status, 2) << columns.errors.substr(0, 1000);
  EXPECT_NE(columns.errors.find("[unknown-column]"), std::string::npos);
}

// What names others is looked up, what is wrong is counted beyond the first errors: each of these
// took minutes.
TEST(InputFiles, ManyNamesAreReadInTimeLinearInThem) {
  const TestFolder folder;
  constexpr int count = 60'000;
  std::string communicators = "ranks: 2";
  std::string ops = " role {";
  std::string groups = "{\"version\": \"0.0.4\"}";
  std::string attributes = "<platform version=\"4.1\"><zone id=\"world\"";
  std::string roles = "ranks: " + std::to_string(count);
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    communicators += " communicator { name: \"c" + number + "\" size: 2 }";
    ops += " op { name: \"o" + number + "\" collective { type: ALL_REDUCE size: \"1MB\" communicator: \"c59999\" } }";
    groups += "{\"id\": \"" + number +
              "\", \"name\": \"n\", \"type\": \"COMM_COLL_NODE\", \"attr\": [{\"name\": \"comm_type\", \"int64Val\": \"3\"}, " +
              "{\"name\": \"comm_size\", \"int64Val\": \"4096\"}, {\"name\": \"pg_name\", \"stringVal\": \"g" + number + "\"}]}";
    attributes += " a" + number + "=\"\"";
    roles += " role { name: \"r" + number + "\" ranks: \"" + number +
             "\" op { name: \"a\" collective { type: ALL_REDUCE size: \"1MB\" } } }";
  }
  folder.write("communicators.textproto", communicators + ops + " }");
  folder.write("roles.textproto", roles);
  folder.write("groups.0.json", groups);
  folder.write("attributes.xml", attributes + "/></platform>");
  EXPECT_EQ(run_weft({folder.path(), kSeconds}, {"workload", "show", "communicators.textproto"}).status, 0);
  EXPECT_EQ(run_weft({folder.path(), kSeconds}, {"workload", "show", "roles.textproto"}).status, 0);
  const WeftAnswer chakra = run_weft({folder.path(), kSeconds}, {"workload", "show", "groups:chakra", "--ranks=2"});
  EXPECT_EQ(chakra.status, 0) << chakra.errors.substr(0, 1000);
  const WeftAnswer xml = run_weft({folder.path(), kSeconds}, {"topology", "show", "attributes.xml:simgrid"});
  EXPECT_EQ(xml.status, 2) << xml.errors.substr(0, 1000);
  EXPECT_NE(xml.errors.find("[too-many-errors]"), std::string::npos) << xml.errors.substr(0, 1000);
}

// Counts of a small file that stand for gigabytes: groups for each of 16 million ranks, 200 times;
// 16 million receives to name that nobody sends.
TEST(InputFiles, SmallFilesTakeNoGigabytes) {
  const TestFolder folder;
  std::string communicators = "ranks: 16777216";
  for (int i = 0; i < 200; ++i) communicators += fmt::format(" communicator {{ name: \"c{}\" size: 2 }}", i);
  folder.write("communicators.textproto", communicators + " role { op { compute { duration: \"1us\" } } }");
  const WeftAnswer refused = run_weft({folder.path(), kSeconds}, {"workload", "show", "communicators.textproto"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.errors.find("200 communicators of 16777216 ranks [too-large]"), std::string::npos) << refused.errors;
  std::string receives = "ranks: 4194304 role {";
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    receives += " op { name: \"r" + number + "\" receive { peer_offset: 1 size: \"1MB\" tag: " + number + " } }";
  }
  folder.write("receives.textproto", receives + " }");
  const WeftAnswer named = run_weft({folder.path(), kSeconds}, {"workload", "show", "receives.textproto"});
  EXPECT_EQ(named.status, 2);
  EXPECT_NE(named.errors.find("but nothing is sent [unmatched-receive]"), std::string::npos) << named.errors;
}

#if !WEFT_SANITIZED
TEST(InputFiles, RunningOutOfMemoryNamesTheFileOrTheStage) {
  const TestFolder folder;
  folder.write("large.csv", std::string(300 << 20, ' '));
  const WeftAnswer reading = run_weft({folder.path(), {{RLIMIT_AS, 256U << 20}}}, {"run", "--jobs=large.csv:weft", "--hosts=2"});
  EXPECT_EQ(reading.status, 2);
  EXPECT_NE(reading.errors.find("out of memory while reading large.csv [out-of-memory]"), std::string::npos) << reading.errors;
}
#endif

TEST(InputFiles, AByteOrderMarkIsLeftOutOrNamed) {
  const TestFolder folder;
  const std::string work = "ranks: 2\nrole { name: \"r\" op { name: \"c\" compute { duration: \"10us\" } } }\n";
  const std::string goal = "num_ranks 2\nrank 0 {\nl0: calc 10\n}\nrank 1 {\nl0: calc 10\n}\n";
  folder.write("bom.textproto", "\xEF\xBB\xBF" + work);
  folder.write("bom.goal", "\xEF\xBB\xBF" + goal);
  folder.write("bom.csv", "\xEF\xBB\xBFjob,submit_s,gpus,run_s\na,0,2,5\n");
  EXPECT_EQ(run_weft({folder.path()}, {"workload", "show", "bom.textproto"}).status, 0);
  EXPECT_EQ(run_weft({folder.path()}, {"workload", "show", "bom.goal:goal"}).status, 0);
  EXPECT_EQ(run_weft({folder.path()}, {"run", "--jobs=bom.csv:weft", "--hosts=2"}).status, 0);
  // Columns count from behind it, as editors do.
  folder.write("bad.textproto", "\xEF\xBB\xBFrank: 2\n");
  EXPECT_NE(run_weft({folder.path()}, {"workload", "show", "bad.textproto"})
                .errors.find("bad.textproto:1:1: error: there is no field \"rank\""),
            std::string::npos);
  for (const char* file : {"utf16.textproto", "utf16:goal", "utf16:kineto", "utf16:htsim"}) {
    folder.write(std::string(file).substr(0, std::string(file).find(':')), std::string("\xFF\xFEr\0a\0", 6));
    const WeftAnswer answer = run_weft({folder.path()}, {"workload", "show", file});
    EXPECT_EQ(answer.status, 2);
    EXPECT_NE(answer.errors.find("the file is UTF-16 text, by its byte order mark [not-utf8]"), std::string::npos) << answer.errors;
  }
}

}  // namespace
}  // namespace weft::input_files_test
