// SPDX-License-Identifier: Apache-2.0
// Regressor profile: read back it predicts the same bits and is the same text; a damaged one,
// another version and another GPU are refused.
#include "host/op_times/regressor_profile.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "core/text/diagnostics.hpp"
#include "core/text/manifest.hpp"
#include "host/op_times/regressor_search.hpp"
#include "host/operator_profile.pb.h"
#include "tests/error_code.hpp"
#include "tests/host/op_times/planted_samples.hpp"

namespace weft::regressor_profile_test {
namespace {

const std::string& planted_text() {
  static const std::string text = fit_regressors(planted_samples(0.02), small_search()).to_text();
  return text;
}

RegressorProfile read(const std::string& text) { return RegressorProfile::read(SourceText("p.textproto", text)); }

std::string code_of(const std::string& text) {
  return error_code_of([&] { read(text); });
}

/// The text after a change, with the digest of what it says now.
std::string changed(const std::function<void(operator_profile::Profile&)>& change) {
  operator_profile::Profile profile;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(planted_text(), &profile));
  change(profile);
  profile.clear_digest();
  profile.set_digest(sha256_hex(profile.SerializeAsString()));
  std::string text;
  google::protobuf::TextFormat::PrintToString(profile, &text);
  return text;
}

TEST(RegressorProfile, ReadsBackToTheSame) {
  const RegressorProfile fitted = fit_regressors(planted_samples(0.02), small_search());
  const RegressorProfile profile = read(planted_text());
  EXPECT_EQ(profile.to_text(), planted_text());
  ASSERT_EQ(profile.regressors.size(), fitted.regressors.size());
  for (std::size_t i = 0; i < fitted.regressors.size(); ++i) {
    const Regressor& one = fitted.regressors[i];
    const std::vector<double> sizes =
        one.of.kernel.kind == KernelKind::matmul ? std::vector<double>{3000, 1500, 2000, 1} : std::vector<double>{3000, 1500};
    EXPECT_EQ(profile.regressors[i].predict(sizes).time_us, one.predict(sizes).time_us);
    EXPECT_EQ(profile.regressors[i].settings, one.settings);
    EXPECT_EQ(profile.regressors[i].errors.test, one.errors.test);
  }
}

TEST(RegressorProfile, RefusesWhatWasChangedOrIsOfOthers) {
  std::string damaged = planted_text();
  const std::size_t place = damaged.find("law: ");
  damaged.insert(place + 5, "1");
  EXPECT_EQ(code_of(damaged), "damaged-profile");
  EXPECT_EQ(code_of(planted_text().substr(0, planted_text().rfind("digest"))), "damaged-profile");
  EXPECT_EQ(code_of(changed([](auto& profile) { profile.set_version(1); })), "other-version");
  EXPECT_EQ(code_of(changed([](auto& profile) { profile.clear_gpu(); })), "missing-field");
  EXPECT_THROW(check_gpu(read(planted_text()), "A100", SourcePlace::named("p")), InputError);
  EXPECT_NO_THROW(check_gpu(read(planted_text()), "planted", SourcePlace::named("p")));
}

// Each with a digest that fits, as another program might write it.
TEST(RegressorProfile, RefusesRegressorsThatCannotBeAsked) {
  const auto code_after = [](const std::function<void(operator_profile::Regressor&)>& change) {
    return code_of(changed([&](auto& profile) { change(*profile.mutable_regressor(0)); }));
  };
  EXPECT_EQ(code_after([](auto&) {}), "");
  EXPECT_EQ(code_after([](auto& one) { one.set_tree(0, "99<1 =1 =2"); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.set_tree(0, "0<1 =1"); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.add_law(1); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.set_law(0, -1); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.mutable_range(0)->set_least(0); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.mutable_range()->RemoveLast(); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.set_size(0, "height"); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.set_kernel("matmul3"); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.set_type("fp16"); }), "bad-value");
  EXPECT_EQ(code_after([](auto& one) { one.clear_pass(); }), "bad-value");
}

}  // namespace
}  // namespace weft::regressor_profile_test
