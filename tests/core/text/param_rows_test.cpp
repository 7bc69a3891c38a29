// SPDX-License-Identifier: Apache-2.0
#include "core/text/param_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft::param_rows_test {
namespace {

enum class Order { first, second, third };

struct Inner {
  std::uint32_t depth;
};

struct Settings {
  std::uint32_t ports;
  double ratio;
  bool is_verbose;
  bool is_fast;
  Order order;
  std::string label;
  std::string rules;
  Duration delay;
  Bytes buffer;
  Bandwidth rate;
  Length fibre;
  std::optional<Bytes> window;
  std::optional<Duration> target;
  std::optional<Bandwidth> limit;
  std::optional<std::uint64_t> seed;
  Inner inner;
  std::array<double, 2> shares;
  std::vector<std::size_t> lengths;
};

struct Others {
  std::optional<double> alpha;
  std::optional<Bytes> size;
};

std::vector<std::size_t> lengths_of(const std::string& text, const std::string& param) {
  if (text.empty()) fail("bad-value", param + " is empty", SourcePlace::named(param));
  return {text.size()};
}

constexpr std::array kRows = {
    param<&Settings::ports>({.name = "ports", .default_text = "4", .minimum = "2", .maximum = "128"}),
    param<&Settings::ratio>({.name = "ratio", .default_text = "1.5"}),
    param<&Settings::is_verbose>({.name = "verbose", .default_text = "true"}),
    param<&Settings::is_fast>({.name = "speed", .default_text = "fast", .choices = "fast|slow", .word = "fast"}),
    param<&Settings::order>({.name = "order", .default_text = "second", .choices = "first|second|third"}),
    param<&Settings::label>({.name = "label", .default_text = "x"}),
    param<&Settings::rules>({.name = "rules", .kind = ParamKind::file}),
    param<&Settings::delay>({.name = "delay", .default_text = "1.5us"}),
    param<&Settings::buffer>({.name = "buffer", .default_text = "32MiB"}),
    param<&Settings::rate>({.name = "rate", .default_text = "400Gbps"}),
    param<&Settings::fibre>({.name = "fibre", .default_text = "30m"}),
    param<&Settings::window>({.name = "window", .default_text = "auto", .word = "auto"}),
    param<&Settings::target>({.name = "target", .default_text = "auto", .word = "auto"}),
    param<&Settings::limit>({.name = "limit", .default_text = "unlimited", .word = "unlimited"}),
    param<&Settings::seed>({.name = "seed", .default_text = "run", .word = "run"}),
    param<&Settings::inner, &Inner::depth>({.name = "depth", .default_text = "7"}),
    param<&Settings::shares, Order::second>({.name = "second_share", .default_text = "0.25"}),
    param_read<lengths_of, &Settings::lengths>({.name = "lengths", .default_text = "abc"}),
    param<&Others::alpha>({.name = "alpha", .default_text = "0.5"}),
    param<&Others::size>({.name = "size", .default_text = "1kB"}),
};

const SourcePlace kPlace = SourcePlace::named("test");

TEST(ParamRows, MembersHaveTheDefaultsOfTheTable) {
  const auto settings = default_settings<Settings>(kRows);
  EXPECT_EQ(settings.ports, 4U);
  EXPECT_EQ(settings.ratio, 1.5);
  EXPECT_TRUE(settings.is_verbose);
  EXPECT_TRUE(settings.is_fast);
  EXPECT_EQ(settings.order, Order::second);
  EXPECT_EQ(settings.label, "x");
  EXPECT_EQ(settings.rules, "");
  EXPECT_EQ(settings.delay, Duration::ns(1500));
  EXPECT_EQ(settings.buffer, Bytes::mib(32));
  EXPECT_EQ(settings.rate, Bandwidth::gbps(400));
  EXPECT_EQ(settings.fibre, Length::metres(30));
  EXPECT_EQ(settings.window, std::nullopt);
  EXPECT_EQ(settings.target, std::nullopt);
  EXPECT_EQ(settings.limit, std::nullopt);
  EXPECT_EQ(settings.seed, std::nullopt);
  EXPECT_EQ(settings.inner.depth, 7U);
  EXPECT_EQ(settings.shares, (std::array{0.0, 0.25}));
  EXPECT_EQ(settings.lengths, std::vector<std::size_t>{3});
  EXPECT_TRUE(members_that_differ(settings, ParamSet("module", kRows)).empty());
}

TEST(ParamRows, KindsFollowFromMembers) {
  const auto kind = [](std::string_view name) { return std::ranges::find(kRows, name, &ParamSpec::name)->kind; };
  EXPECT_EQ(kind("ports"), ParamKind::integer);
  EXPECT_EQ(kind("ratio"), ParamKind::real);
  EXPECT_EQ(kind("verbose"), ParamKind::boolean);
  EXPECT_EQ(kind("speed"), ParamKind::choice);
  EXPECT_EQ(kind("order"), ParamKind::choice);
  EXPECT_EQ(kind("label"), ParamKind::text);
  EXPECT_EQ(kind("rules"), ParamKind::file);
  EXPECT_EQ(kind("delay"), ParamKind::duration);
  EXPECT_EQ(kind("window"), ParamKind::text) << "a size or a word";
  EXPECT_EQ(kind("lengths"), ParamKind::text);
  EXPECT_EQ(kind("alpha"), ParamKind::real) << "without a word an optional is of what it holds";
  EXPECT_EQ(kind("size"), ParamKind::bytes);
}

TEST(ParamRows, FillTakesWhatWasSet) {
  ParamSet params("module", kRows);
  const std::array<std::pair<const char*, const char*>, 8> values = {{{"speed", "slow"},
                                                                      {"order", "third"},
                                                                      {"window", "9B"},
                                                                      {"target", "2us"},
                                                                      {"limit", "5Gbps"},
                                                                      {"seed", "12"},
                                                                      {"depth", "1"},
                                                                      {"lengths", "abcde"}}};
  for (const auto& [name, value] : values) params.set(name, value, kPlace);
  const auto settings = filled<Settings>(params);
  EXPECT_FALSE(settings.is_fast);
  EXPECT_EQ(settings.order, Order::third);
  EXPECT_EQ(settings.window, Bytes::of(9));
  EXPECT_EQ(settings.target, Duration::us(2));
  EXPECT_EQ(settings.limit, Bandwidth::gbps(5));
  EXPECT_EQ(settings.seed, 12U);
  EXPECT_EQ(settings.inner.depth, 1U);
  EXPECT_EQ(settings.lengths, std::vector<std::size_t>{5});
  const std::vector<std::string> changed = {"speed", "order", "window", "target", "limit", "seed", "depth", "lengths"};
  EXPECT_EQ(members_that_differ(settings, ParamSet("module", kRows)), changed);
}

TEST(ParamRows, WrongTextsNameTheParameter) {
  ParamSet params("module", kRows);
  params.set("window", "nine", kPlace);
  try {
    filled<Settings>(params);
    FAIL() << "\"nine\" is no size";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "bad-value");
    EXPECT_EQ(error.diagnostics().front().place.file, "module.window");
  }
}

// Two structs share the table: each gets its own rows, and fill_given() only those that were set.
TEST(ParamRows, OnlyWhatWasGivenIsFilledWhereThatIsAskedFor) {
  ParamSet params("module", kRows);
  params.set("alpha", "0.75", kPlace);
  Others others;
  fill_given(others, params);
  EXPECT_EQ(others.alpha, 0.75);
  EXPECT_EQ(others.size, std::nullopt);
  fill(others, params);
  EXPECT_EQ(others.size, Bytes::of(1000));
}

TEST(ParamRows, TheTableHasToFillTheStruct) {
  struct Unknown {
    int value;
  };
  Unknown unknown{};
  EXPECT_THROW(fill(unknown, ParamSet("module", kRows)), CheckFailure);
}

}  // namespace
}  // namespace weft::param_rows_test
