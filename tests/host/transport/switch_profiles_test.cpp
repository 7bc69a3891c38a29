// SPDX-License-Identifier: Apache-2.0
// Profiles of switches: what their text says, which switches and priorities it is for, and what is
// refused.
#include "host/transport/switch_profiles.hpp"

#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"
#include "topologies/topology.hpp"

namespace weft::switch_profiles_test {
namespace {

TEST(SwitchProfiles, SayWhatTheirTextSays) {
  const std::vector<SwitchProfile> profiles = read_switch_profiles(
      "leaf: buffer=64MB, alpha=0.25; spine*: priority=1 lossy_alpha=8 ecn_kmin=200kB ecn_kmax=1MB ecn_pmax=0.5;",
      "packet.profiles");
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(profiles[0].switches, "leaf");
  EXPECT_EQ(profiles[0].buffer, Bytes::of(64'000'000));
  EXPECT_EQ(profiles[0].alpha, 0.25);
  EXPECT_FALSE(profiles[0].lossy_alpha || profiles[0].ecn_kmin || profiles[0].ecn_kmax || profiles[0].ecn_pmax);
  EXPECT_TRUE(profiles[0].is_for(0) && profiles[0].is_for(7));
  EXPECT_EQ(profiles[1].lossy_alpha, 8);
  EXPECT_EQ(profiles[1].ecn_kmin, Bytes::of(200'000));
  EXPECT_EQ(profiles[1].ecn_kmax, Bytes::of(1'000'000));
  EXPECT_EQ(profiles[1].ecn_pmax, 0.5);
  EXPECT_TRUE(profiles[1].is_for(1) && !profiles[1].is_for(0));
}

TEST(SwitchProfiles, AreForClassesLevelsNamesAndPatterns) {
  TopologyBuilder builder("two switches");
  const std::uint16_t deep = builder.add_buffer_class({"deep", Bytes::of(1'000'000)});
  const std::uint16_t flat = builder.add_buffer_class({"flat", Bytes::of(1'000)});
  const HostId host = builder.add_host();
  const NodeId gpu = builder.add_endpoint(host, NodeKind::gpu);
  const NodeId nic = builder.add_inside(host, NodeKind::nic);
  const NodeId leaf = builder.add_switch(1, "site0/leaf12", flat);
  const NodeId spine = builder.add_switch(3, "core", deep);
  builder.add_cable(gpu, nic, Bandwidth::gbps(100), Duration::ns(10));
  builder.add_cable(nic, leaf, Bandwidth::gbps(100), Duration::ns(10));
  builder.add_cable(leaf, spine, Bandwidth::gbps(100), Duration::ns(10));
  const std::shared_ptr<const Topology> topology = std::move(builder).build(nullptr, SourcePlace::named("test"));
  const auto is_for = [&](const char* selector) {
    SwitchProfile profile;
    profile.switches = selector;
    return std::pair(selects(profile, *topology, leaf), selects(profile, *topology, spine));
  };
  for (const char* of_leaf : {"flat", "level1", "leaf12", "site0/leaf12", "leaf*", "leaf?2", "*/leaf12", "l*1*"}) {
    EXPECT_EQ(is_for(of_leaf), std::pair(true, false)) << of_leaf;
  }
  for (const char* of_spine : {"deep", "level3", "core", "c*e", "????"})
    EXPECT_EQ(is_for(of_spine), std::pair(false, true)) << of_spine;
  EXPECT_EQ(is_for("*"), std::pair(true, true));
  for (const char* of_none : {"leaf", "leaf?", "site0", "Core", "level2", ""})
    EXPECT_EQ(is_for(of_none), std::pair(false, false)) << of_none;

  SwitchProfile listed;
  listed.switches = "core";
  listed.nodes = {leaf};
  EXPECT_TRUE(selects(listed, *topology, leaf));
  EXPECT_FALSE(selects(listed, *topology, spine)) << "whatever the selector says";

  Diagnostics diagnostics;
  check_profiles(read_switch_profiles("leaf*: alpha=1; core: priority=1 alpha=1", "p"), *topology, 2, "p", diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  check_profiles(read_switch_profiles("leav*: alpha=1; core: priority=2 alpha=1", "p"), *topology, 2, "p", diagnostics);
  EXPECT_TRUE(diagnostics.has_errors());
}

TEST(SwitchProfiles, RefuseWhatIsNone) {
  for (const char* text : {"leaf", "leaf alpha=1", ": alpha=1", "leaf:", "leaf: priority=1", "leaf: alpha", "leaf: alpha=0",
                           "leaf: alpha=x", "leaf: kmin=1kB", "leaf: priority=8 alpha=1", "leaf: priority=1 buffer=1MB"}) {
    EXPECT_THROW(read_switch_profiles(text, "packet.profiles"), InputError) << text;
  }
  EXPECT_TRUE(read_switch_profiles(" ; ", "packet.profiles").empty());
}

}  // namespace
}  // namespace weft::switch_profiles_test
