// SPDX-License-Identifier: Apache-2.0
#include "core/text/params.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"

namespace weft::params_test {
namespace {

constexpr std::array<ParamSpec, 9> kTable = {{
    {"k", ParamKind::integer, "4", "2", "128", "", "ports per switch", "test"},
    {"ratio", ParamKind::real, "1.0", "0.5", "", "", "oversubscription", "test"},
    {"verbose", ParamKind::boolean, "false", "", "", "", "says more", "test"},
    {"label", ParamKind::text, "x", "", "", "", "any text", "test"},
    {"policy", ParamKind::choice, "max_min", "", "", "max_min|proportional", "how rates are shared", "test"},
    {"delay", ParamKind::duration, "1.5us", "0s", "1ms", "", "latency", "test"},
    {"buffer", ParamKind::bytes, "32MiB", "", "", "", "packet memory", "test"},
    {"rate", ParamKind::bandwidth, "400Gbps", "1Gbps", "", "", "link rate", "test"},
    {"fibre", ParamKind::length, "30m", "", "", "", "cable length", "test"},
}};

SourcePlace flag() {
  SourcePlace place;
  place.file = "--set";
  return place;
}

std::string error_of(std::string_view name, std::string_view text) {
  ParamSet params("fat_tree", kTable);
  try {
    params.set(name, text, flag());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Params, StartWithTheDefaults) {
  const ParamSet params("fat_tree", kTable);
  EXPECT_EQ(params.integer("k"), 4);
  EXPECT_EQ(params.real("ratio"), 1.0);
  EXPECT_FALSE(params.boolean("verbose"));
  EXPECT_EQ(params.text("label"), "x");
  EXPECT_EQ(params.text("policy"), "max_min");
  EXPECT_EQ(params.duration("delay"), Duration::ns(1500));
  EXPECT_EQ(params.bytes("buffer"), Bytes::mib(32));
  EXPECT_EQ(params.bandwidth("rate"), Bandwidth::gbps(400));
  EXPECT_EQ(params.length("fibre"), Length::metres(30));
  EXPECT_TRUE(params.has("k"));
  EXPECT_FALSE(params.has("kk"));
  EXPECT_TRUE(params.is_default("k"));
  EXPECT_EQ(params.module(), "fat_tree");
}

TEST(Params, SetAndReadBack) {
  ParamSet params("fat_tree", kTable);
  params.set("k", "128", flag());
  params.set("verbose", "true", flag());
  params.set("policy", "proportional", flag());
  params.set("delay", "0s", flag());
  EXPECT_EQ(params.integer("k"), 128);
  EXPECT_TRUE(params.boolean("verbose"));
  EXPECT_EQ(params.text("policy"), "proportional");
  EXPECT_EQ(params.duration("delay"), Duration::zero());
  EXPECT_FALSE(params.is_default("k"));
  EXPECT_TRUE(params.is_given("k"));
  EXPECT_FALSE(params.is_given("ratio"));
  params.set("ratio", "1", flag());
  EXPECT_TRUE(params.is_given("ratio"));
  EXPECT_EQ(params.value_text(0), "128");
}

TEST(Params, Errors) {
  EXPECT_EQ(error_of("kk", "4"), "--set: error: fat_tree has no parameter \"kk\" [unknown-param]\n  help: did you mean \"k\"?\n");
  EXPECT_EQ(error_of("k", "1"), "--set: error: fat_tree.k = 1 is below the minimum [out-of-range]\n  help: allowed: 2 .. 128\n");
  EXPECT_EQ(error_of("delay", "1.1ms"),
            "--set: error: fat_tree.delay = 1.1ms is above the maximum [out-of-range]\n  help: allowed: 0s .. 1ms\n");
  EXPECT_EQ(error_of("ratio", "0.1"),
            "--set: error: fat_tree.ratio = 0.1 is below the minimum [out-of-range]\n  help: allowed: 0.5 .. any\n");
  EXPECT_EQ(error_of("delay", "5"),
            "--set: error: fat_tree.delay: \"5\" has no unit [bad-value]\n"
            "  help: units are ps, ns, us, ms, s, min, h, d; for example \"1.5us\"\n");
  EXPECT_EQ(
      error_of("policy", "max-min"),
      "--set: error: fat_tree.policy: \"max-min\" is not one of the choices [bad-value]\n  help: did you mean \"max_min\"?\n");
  for (const char* text : {"", "4.5", "four", "4 ", "99999999999999999999", "0x4"}) {
    EXPECT_NE(error_of("k", text).find("[bad-value]"), std::string::npos) << text;
  }
  for (const char* text : {"", "nan", "inf", "1,5", "1e999"}) {
    EXPECT_NE(error_of("ratio", text).find("[bad-value]"), std::string::npos) << text;
  }
  EXPECT_NE(error_of("verbose", "yes").find("[bad-value]"), std::string::npos);
}

TEST(Params, WithoutWhatTheyNeedAreRefusedTogether) {
  ParamSet params("fat_tree", kTable);
  params.set("k", "8", flag());
  params.set("ratio", "2", flag());
  params.set("label", "x", flag());  // its default
  const auto told = [&](bool has_k, bool has_ratio) -> std::string {
    const std::array needs = {ParamNeed{"k", has_k, "hosts"}, ParamNeed{"ratio", has_ratio, "spines"},
                              ParamNeed{"label", false, "a printer"}};
    try {
      check_needs(params, needs, flag());
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const std::string help = "  help: leave it out, or set what it needs\n";
  const std::string ratio = "--set: error: fat_tree: ratio needs spines [unused-setting]\n" + help;
  EXPECT_EQ(told(true, true), "");
  EXPECT_EQ(told(true, false), ratio);
  EXPECT_EQ(told(false, false), "--set: error: fat_tree: k needs hosts [unused-setting]\n" + help + ratio);
}

TEST(Params, MisuseIsOurBug) {
  const ParamSet params("fat_tree", kTable);
  EXPECT_THROW(params.integer("rate"), CheckFailure);
  EXPECT_THROW(params.integer("nothing"), CheckFailure);
  constexpr std::array<ParamSpec, 1> bad = {{{"x", ParamKind::duration, "5", "", "", "", "", ""}}};
  EXPECT_THROW(ParamSet("m", bad), CheckFailure);
}

TEST(Modules, AreFoundByName) {
  using Make = int (*)();
  constexpr std::array<Module<Make>, 2> modules = {{{{"scheduler", "fcfs", "first come first served", {}}, [] { return 1; }},
                                                    {{"scheduler", "srpt", "", {}}, [] { return 2; }}}};
  EXPECT_EQ(find_module<Make>(modules, "srpt", flag()).make(), 2);
  try {
    find_module<Make>(modules, "fcsf", flag());
    FAIL() << "there is no such module";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "--set: error: there is no scheduler \"fcsf\" [unknown-module]\n  help: did you mean \"fcfs\"?\n");
  }
}

}  // namespace
}  // namespace weft::params_test
