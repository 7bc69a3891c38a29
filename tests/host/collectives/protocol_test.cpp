// SPDX-License-Identifier: Apache-2.0
// Protocols: what flags cost.
#include "host/collectives/protocol.hpp"

#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"

namespace weft::protocol_test {
namespace {

CollectiveProtocol made(std::string_view name) {
  const auto& module = find_module(collective_protocols(), name, {});
  return module.make(ParamSet(std::string(name), module.info.params));
}

TEST(Protocols, MoveFlagsWithTheData) {
  EXPECT_EQ(made("ideal").moved_bytes(Bytes::of(1001), false), Bytes::of(1001));
  EXPECT_EQ(made("simple").moved_bytes(Bytes::of(1001), false), Bytes::of(1001));
  EXPECT_EQ(made("ll").moved_bytes(Bytes::of(1001), false), Bytes::of(2002));  // 8 bytes for 4
  // 128 bytes for 120
  EXPECT_EQ(made("ll128").moved_bytes(Bytes::of(1200), false), Bytes::of(1280));
  EXPECT_EQ(made("ll128").moved_bytes(Bytes::of(1), false), Bytes::of(2));  // rounded up
  EXPECT_EQ(made("ll").moved_bytes(Bytes::zero(), false), Bytes::zero());
}

TEST(Protocols, AreNamedAndIdealCostsNoTime) {
  for (const auto& module : collective_protocols()) EXPECT_EQ(made(module.info.name).name, module.info.name);
  EXPECT_EQ(made("ideal").base_latency, Duration::zero());
  EXPECT_LT(made("ll").hop_latency_network, made("simple").hop_latency_network);
}

}  // namespace
}  // namespace weft::protocol_test
