// SPDX-License-Identifier: Apache-2.0
#include "core/text/run_condition.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft::run_condition_test {
namespace {

constexpr std::array kRows = {
    ParamSpec{.name = "timeout", .kind = ParamKind::duration, .default_text = "0ns"},
    ParamSpec{.name = "mtbf", .kind = ParamKind::real, .default_text = "0"},
    ParamSpec{.name = "routing", .kind = ParamKind::choice, .default_text = "ecmp", .choices = "ecmp|spray"},
};

/// A run in packet mode with the parameters of a set.
HasValue run_of(const ParamSet& params) {
  return [&params](std::string_view subject, std::string_view value) {
    if (subject == "mode") return value == "packet";
    return has_value(params, subject.substr(subject.find('.') + 1), value);
  };
}

TEST(RunCondition, ComparesFactsAndParameters) {
  const ParamSet params("flow", kRows);
  const HasValue run = run_of(params);
  EXPECT_TRUE(holds("mode = packet", run));
  EXPECT_TRUE(holds("mode = flow|packet", run));
  EXPECT_FALSE(holds("mode != flow|packet", run));
  EXPECT_TRUE(holds("flow.routing = ecmp", run));
  EXPECT_FALSE(holds("flow.routing != ecmp", run));
  EXPECT_TRUE(holds("mode = packet and flow.routing != spray", run));
  EXPECT_FALSE(holds("mode = packet and flow.routing = spray", run));
}

TEST(RunCondition, QuantitiesAreComparedInTheirUnits) {
  ParamSet params("flow", kRows);
  EXPECT_TRUE(has_value(params, "timeout", "0s")) << "0ns is 0s";
  EXPECT_TRUE(has_value(params, "mtbf", "0.0"));
  params.set("timeout", "1000ns", SourcePlace::named("test"));
  EXPECT_TRUE(has_value(params, "timeout", "1us"));
  EXPECT_FALSE(has_value(params, "timeout", "0s"));
}

TEST(RunCondition, TheFirstThatHoldsSaysWhyARowIsUnused) {
  const ParamSet params("flow", kRows);
  const ParamSpec row{.name = "seed",
                      .unused = {{"flow.routing = spray", "it is sprayed"},
                                 {"mode = packet", "packets have none"},
                                 {"flow.routing = ecmp", "it is hashed"}}};
  const UnusedWhen* const first = first_that_holds(row.unused, run_of(params));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->because, "packets have none");
  EXPECT_EQ(first_that_holds({}, run_of(params)), nullptr);
}

TEST(RunCondition, IsRefusedWhereItComparesNothing) {
  EXPECT_THROW(parse_run_condition("mode"), CheckFailure);
  EXPECT_THROW(parse_run_condition("mode = flow and jobs"), CheckFailure);
  const ParamSet params("flow", kRows);
  EXPECT_THROW(has_value(params, "rooting", "ecmp"), CheckFailure);
  EXPECT_THROW(has_value(params, "timeout", "never"), CheckFailure);
}

}  // namespace
}  // namespace weft::run_condition_test
