// SPDX-License-Identifier: Apache-2.0
// Run notes: a run says where slots, windows or headroom have set its pace, and says nothing where
// they have not.
#include "tools/simulation/run_notes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/validation/scenario_run.hpp"

namespace weft::run_notes_test {
namespace {

/// Two hosts with 400G cards on a switch, `delay` away from it.
std::string two_hosts(const ScratchFolder& folder, const std::string& delay) {
  return folder.write("net.txt", "3 1 2\n2\n0 2 400Gbps " + delay + " 0\n1 2 400Gbps " + delay + " 0\n") + ":hpcc";
}

/// Host 0 broadcasts 16 MiB to host 1: a chain of 32 pieces, each of which takes a slot.
RunFlags broadcast(const ScratchFolder& folder, const std::string& delay, const std::string& receiver_waits = "1us") {
  RunFlags flags;
  flags.topology = two_hosts(folder, delay);
  flags.workload = folder.write(
      "work.textproto",
      "ranks: 2 role { name: \"root\" ranks: \"0\" op { name: \"c\" compute { duration: \"1us\" } } op { name: \"b\" deps: \"c\" "
      "collective { type: BROADCAST size: \"16MiB\" root: 0 } } } role { name: \"leaf\" ranks: \"1\" op { name: \"c\" compute { "
      "duration: \"" +
          receiver_waits + "\" } } op { name: \"b\" deps: \"c\" collective { type: BROADCAST size: \"16MiB\" root: 0 } } }");
  return flags;
}

// Expectation: a piece of 512 KiB is 534,882 B on the wire (129 packets), 10.69764 us at 400 Gb/s.
// There are 8 slots, and the receiver tells of four at a time. Pieces go one after the other, each
// 1.2 us after the one before has left (work queue entry and completion): S = 11.89764 us. The 4th
// has arrived after 4 S and 10 ms, and the news of it is back another 10 ms later; so the next four
// may go 4 S + 20 ms after the first four. Of eight fours, the third, fifth and seventh wait for
// that: the last has left after 3 (4 S + 20 ms) + 8 S = 60.24 ms, of which sends wait 3 (20 ms - 4
// S) = 59.86 ms, 99.4 %, and is there 10 ms later. In the 4 x 10.7 us + 20 ms of a round trip, 400
// Gb/s are 1 GB.
TEST(RunNotes, SlotsThatHoldALongPathBackAreNamed) {
  for (const char* mode : {"flow", "packet"}) {
    const ScratchFolder folder;
    RunFlags flags = broadcast(folder, "5ms");
    flags.mode = mode;
    const ScenarioRun run = run_scenario(flags);
    EXPECT_NEAR(std::stod(run.collectives.at(0).at("duration_ns")) * 1e-6, 70.24, 0.02) << mode;
    ASSERT_EQ(run.summary.notes.size(), 1U) << mode;
    EXPECT_EQ(
        run.summary.notes[0],
        "slots hold broadcast (ring) back on 1 connection, most from 0 to 1: 4.19 MB in 8 messages go per round trip of "
        "20.05 ms, in which the path "
        "carries 1 GB; sends waited for 99.4 % of the time with nothing else leaving. collective.slots = 32, now 8, would fill it")
        << mode;
    // All 32 at a time.
    flags.settings.emplace_back("collective.slots=32");
    const ScenarioRun lifted = run_scenario(flags);
    EXPECT_NEAR(std::stod(lifted.collectives.at(0).at("duration_ns")) * 1e-6, 32 * 0.01189764 + 10, 0.01) << mode;
    EXPECT_EQ(lifted.summary.notes, std::vector<std::string>()) << mode;
  }
}

// Expectation: a message of 16 MiB across 20 ms goes in chunks of 2 MiB, as a path of 1 GB holds
// more than 8 slots of 512 KiB. A chunk is 2,139,234 B on the wire (513 packets), 42.78468 us at
// 400 Gb/s, and S = 43.98468 us with what it takes until the next is posted. Two are under way at a
// time: the third goes when the first has arrived and the news of it is back, S + 20 ms later.
// Eight end after 3 (S + 20 ms) + 2 S and 10 ms. Whole the message takes 342 us and 10 ms.
TEST(RunNotes, LongMessagesGoInChunksWherePathsHoldMoreThanSlots) {
  for (const char* mode : {"flow", "packet"}) {
    const ScratchFolder folder;
    RunFlags flags;
    flags.mode = mode;
    flags.topology = two_hosts(folder, "5ms");
    flags.workload =
        folder.write("work.textproto", "ranks: 2 role { op { name: \"c\" collective { type: ALL_GATHER size: \"16MiB\" } } }");
    const double chunk_ms = 0.04398468;
    for (const char* chunk : {"auto", "2MiB"}) {
      flags.settings = {std::string("collective.chunk=") + chunk};
      const ScenarioRun run = run_scenario(flags);
      EXPECT_NEAR(std::stod(run.collectives.at(0).at("duration_ns")) * 1e-6, 3 * (chunk_ms + 20) + 2 * chunk_ms + 10, 0.02)
          << mode << " " << chunk;
      EXPECT_EQ(run.flows.size(), 16U);
      ASSERT_EQ(run.summary.notes.size(), 1U);
      EXPECT_NE(run.summary.notes[0].find("4.19 MB in 2 messages go per round trip"), std::string::npos) << run.summary.notes[0];
    }
    flags.settings = {"collective.chunk=none"};
    const ScenarioRun whole = run_scenario(flags);
    EXPECT_NEAR(std::stod(whole.collectives.at(0).at("duration_ns")) * 1e-6, 10.344, 0.02) << mode;
    EXPECT_EQ(whole.flows.size(), 2U);
    // A path of 4 us holds 200 kB.
    flags.topology = two_hosts(folder, "0.001ms");
    flags.settings.clear();
    EXPECT_EQ(run_scenario(flags).flows.size(), 2U);
  }
}

// A path that holds less than the slots is filled, whatever sends wait for: here a receiver that
// joins 5 ms later.
TEST(RunNotes, ALateReceiverIsNotMistakenForSlots) {
  const ScratchFolder folder;
  const ScenarioRun run = run_scenario(broadcast(folder, "1us", "5ms"));
  EXPECT_GT(std::stod(run.collectives.at(0).at("duration_ns")), 5e6);
  EXPECT_EQ(run.summary.notes, std::vector<std::string>());
}

// Expectation: two broadcasts at a time cross a cable of 100 Gb/s. In a round trip of 4 x 42.8 us
// and 0.4 ms it carries 7.1 MB: the 4.2 MB that slots let through of one are less, those of both
// fill it. Cards that are faster than the cable have sent early, and then wait for slots all the
// same.
TEST(RunNotes, ASharedLinkIsNotMistakenForSlots) {
  for (const char* mode : {"flow", "packet"}) {
    const ScratchFolder folder;
    RunFlags flags;
    flags.mode = mode;
    flags.topology = folder.write("net.txt",
                                  "6 2 5\n4 5\n0 4 400Gbps 0.001ms 0\n1 4 400Gbps 0.001ms 0\n2 5 400Gbps 0.001ms 0\n3 5 400Gbps "
                                  "0.001ms 0\n4 5 100Gbps 0.19ms 0\n") +
                     ":hpcc";
    const auto broadcasts = [&](int groups) {
      return folder.write(
          "work.textproto",
          "ranks: " + std::to_string(2 * groups) + " communicator { name: \"pair\" size: 2 stride: " + std::to_string(groups) +
              " } role { op { name: \"c\" collective { type: BROADCAST communicator: \"pair\" size: \"64MiB\" root: 0 } } }");
    };
    flags.settings = {"packet.congestion_control=none", "host.fold_ranks=off"};
    flags.workload = broadcasts(2);
    EXPECT_EQ(run_scenario(flags).summary.notes, std::vector<std::string>()) << mode;
  }
}

// A run with messages of no bytes once divided by their slots. Between hosts a ring of small
// messages waits for slots, which NVLink would bring faster.
TEST(RunNotes, MessagesWithoutBytesTakeASlot) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = folder.write("rail.textproto", "builder: \"rail_optimized\" set { name: \"hosts\" value: \"8\" }");
  flags.workload =
      folder.write("work.textproto", "ranks: 64 role { op { name: \"c\" collective { type: ALL_REDUCE size: \"1B\" } } }");
  const ScenarioRun held = run_scenario(flags);
  flags.settings = {"collective.slots=126"};
  const ScenarioRun lifted = run_scenario(flags);
  ASSERT_EQ(held.summary.notes.size(), 1U);
  EXPECT_NE(held.summary.notes[0].find("0 B in 8 messages"), std::string::npos) << held.summary.notes[0];
  EXPECT_GT(held.summary.makespan, lifted.summary.makespan);
  EXPECT_EQ(lifted.summary.notes, std::vector<std::string>());
}

// 400 Gb/s times the round trip of 20 ms is 1 GB, of which a window of 1 MB lets a thousandth be
// under way.
TEST(RunNotes, AWindowBelowThePathIsNamed) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = two_hosts(folder, "5ms");
  flags.flows = folder.write("flow.txt", "1\n0 1 3 100 4000000 0\n") + ":hpcc";
  flags.mode = "packet";
  EXPECT_EQ(run_scenario(flags).summary.notes, std::vector<std::string>());
  flags.settings = {"packet.window=1MB"};
  const ScenarioRun run = run_scenario(flags);
  ASSERT_EQ(run.summary.notes.size(), 1U);
  EXPECT_EQ(run.summary.notes[0],
            "packet.window lets 1 MB be under way from 0 to 1, whose bandwidth-delay product is 1 GB, 400Gbps times a "
            "round trip of 20 ms: larger "
            "transfers do not fill that path. packet.window = auto gives every queue pair what its path holds");
  // Four windows and what is left with headers, each a round trip.
  EXPECT_GT(std::stod(run.flows.at(0).at("fct_ns")), 3.5 * 20e6);
  // What fits a window does not wait for it.
  flags.settings = {"packet.window=5MB"};
  EXPECT_EQ(run_scenario(flags).summary.notes, std::vector<std::string>());
}

// 1 us there and 1 us back at 400 Gb/s bring 100 kB after a pause was asked for, and some packets
// more.
TEST(RunNotes, HeadroomThatACableOverrunsIsNamed) {
  const ScratchFolder folder;
  RunFlags flags;
  flags.topology = two_hosts(folder, "0.001ms");
  flags.flows = folder.write("flow.txt", "1\n0 1 3 100 4000000 0\n") + ":hpcc";
  flags.mode = "packet";
  flags.settings = {"packet.headroom=10kB", "packet.unsafe=true"};
  const ScenarioRun run = run_scenario(flags);
  ASSERT_EQ(run.summary.notes.size(), 1U);
  EXPECT_EQ(run.summary.notes[0].find("packet.headroom = 10kB is less than what can come by 0->2"), 0U) << run.summary.notes[0];
  flags.settings = {"packet.headroom=200kB", "packet.unsafe=true"};
  EXPECT_EQ(run_scenario(flags).summary.notes, std::vector<std::string>());
}

}  // namespace
}  // namespace weft::run_notes_test
