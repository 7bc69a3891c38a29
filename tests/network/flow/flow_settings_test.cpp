// SPDX-License-Identifier: Apache-2.0
#include "network/flow/flow_settings.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/text/diagnostics.hpp"

namespace weft::flow_settings_test {
namespace {

FlowSettings settings_with(std::initializer_list<std::pair<const char*, const char*>> parameters) {
  ParamSet flow("flow", flow_params());
  for (const auto& [key, value] : parameters) flow.set(key, value, SourcePlace::named("test"));
  return FlowSettings(flow);
}

TEST(FlowSettings, WithoutLossesHostsAddNothingAndTheNetworkHeaders) {
  const FlowSettings settings = settings_with({{"protocol", "hpcc"}, {"mtu", "1000B"}});
  EXPECT_EQ(settings.wire_bytes(Bytes::of(10'001), true), Bytes::of(10'001));
  // 10 full packets and one of a byte, 48 B of headers each.
  EXPECT_EQ(settings.wire_bytes(Bytes::of(10'001), false), Bytes::of(10'001 + 11 * 48));
}

TEST(FlowSettings, LossesBlowBytesUpAndRoundUp) {
  const FlowSettings settings =
      settings_with({{"protocol", "hpcc"}, {"mtu", "1000B"}, {"nvlink_efficiency", "0.75"}, {"network_efficiency", "0.5"}});
  EXPECT_EQ(settings.wire_bytes(Bytes::of(300), true), Bytes::of(400));
  EXPECT_EQ(settings.wire_bytes(Bytes::of(301), true), Bytes::of(402));  // 401.33
  EXPECT_EQ(settings.wire_bytes(Bytes::of(1000), false), Bytes::of(2 * 1048));
  EXPECT_EQ(settings.wire_bytes(Bytes::zero(), true), Bytes::zero());
  EXPECT_EQ(settings.wire_bytes(Bytes::zero(), false), Bytes::zero());
}

TEST(FlowSettings, AnEfficiencyIsAboveZeroAndAtMostOne) {
  EXPECT_THROW(settings_with({{"nvlink_efficiency", "0"}}), InputError);
  EXPECT_THROW(settings_with({{"network_efficiency", "1.1"}}), InputError);
}

TEST(FlowSettings, HashingGoesByTheSeedOfTheRunUnlessItHasItsOwn) {
  EXPECT_EQ(FlowSettings(ParamSet("flow", flow_params()), 5).path_rule.seed, 5U);
  EXPECT_EQ(settings_with({{"ecmp_seed", "run"}}).path_rule.seed, 1U);
  EXPECT_EQ(settings_with({{"ecmp_seed", "9223372036854775807"}}).path_rule.seed, 9223372036854775807U);
  for (const char* text : {"", "-1", "7x", "9223372036854775808", "one"}) {
    EXPECT_THROW(settings_with({{"ecmp_seed", text}}), InputError) << text;
  }
}

TEST(FlowSettings, OnlyRoutingsThatChooseByHashOrSprayWeighPaths) {
  EXPECT_EQ(settings_with({}).path_rule.weights, PathWeights::equal);
  for (const char* routing : {"ecmp", "e_ecmp", "spray"}) {
    EXPECT_EQ(settings_with({{"routing", routing}, {"path_weights", "capacity"}}).path_rule.weights, PathWeights::capacity);
  }
  for (const char* routing : {"static", "adaptive", "adaptive_global"}) {
    EXPECT_EQ(settings_with({{"routing", routing}, {"path_weights", "equal"}}).path_rule.weights, PathWeights::equal);
    EXPECT_THROW(settings_with({{"routing", routing}, {"path_weights", "capacity"}}), InputError) << routing;
  }
  EXPECT_THROW(settings_with({{"path_weights", "rate"}}), InputError);
}

TEST(FlowSettings, ARateLimitIsAWordOrARate) {
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  EXPECT_EQ(settings_with({}).queue_pair_cap_bps(false), unlimited);
  EXPECT_EQ(settings_with({{"queue_pair_rate_max", "unlimited"}}).queue_pair_cap_bps(false), unlimited);
  const FlowSettings limited = settings_with({{"queue_pair_rate_max", "10Gbps"}, {"network_efficiency", "0.5"}});
  EXPECT_EQ(limited.queue_pair_cap_bps(false), 20e9) << "of blown-up bytes";
  EXPECT_EQ(limited.queue_pair_cap_bps(true), unlimited) << "there are no queue pairs inside a host";
  const auto code_of = [](const char* text) {
    try {
      settings_with({{"queue_pair_rate_max", text}});
    } catch (const InputError& error) {
      return error.diagnostics().front().code;
    }
    return std::string();
  };
  for (const char* text : {"", "fast", "10", "10GB", "none"}) EXPECT_EQ(code_of(text), "bad-value") << text;
  for (const char* text : {"0bps", "0Gbps"}) EXPECT_EQ(code_of(text), "out-of-range") << text;
}

}  // namespace
}  // namespace weft::flow_settings_test
