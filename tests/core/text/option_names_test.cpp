// SPDX-License-Identifier: Apache-2.0
#include "core/text/option_names.hpp"

#include <gtest/gtest.h>

#include "core/text/about_option.hpp"
#include "core/text/diagnostics.hpp"

namespace weft::option_names_test {
namespace {

TEST(OptionNames, AreFlagsOrFields) {
  const OptionNames flags;
  EXPECT_EQ(flags("time_unit"), "--time-unit");
  EXPECT_EQ(flags("ranks", "4"), "--ranks=4");
  const OptionNames fields = OptionNames::of_fields();
  EXPECT_EQ(fields("time_unit"), "time_unit");
  EXPECT_EQ(fields("ranks", "4"), "ranks: 4");
}

TEST(OptionNames, ErrorsMayBeAboutAnOption) {
  EXPECT_EQ(about_option("ranks", [] { return 4; }), 4);
  try {
    about_option("ranks", [] { fail("out-of-range", "no ranks", SourcePlace::named("file")); });
    FAIL() << "the call throws";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().option, "ranks");
    EXPECT_EQ(error.diagnostics().front().code, "out-of-range");
  }
}

}  // namespace
}  // namespace weft::option_names_test
