// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/host_settings.hpp"

#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft::host_settings_test {
namespace {

TEST(HostSettings, WithoutValuesAreTheDefaults) {
  EXPECT_TRUE(members_that_differ(HostSettings(), ParamSet("host", host_params())).empty());
}

// The enumerators stand in the order of the choices.
TEST(HostSettings, FoldingIsChosenByName) {
  ParamSet params("host", host_params());
  const auto chosen = [&](const char* text) {
    params.set("fold_ranks", text, SourcePlace::named("test"));
    return filled<HostSettings>(params).fold_ranks;
  };
  EXPECT_EQ(chosen("auto"), FoldRanks::automatic);
  EXPECT_EQ(chosen("on"), FoldRanks::on);
  EXPECT_EQ(chosen("off"), FoldRanks::off);
}

}  // namespace
}  // namespace weft::host_settings_test
