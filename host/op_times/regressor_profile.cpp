// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/regressor_profile.hpp"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/manifest.hpp"
#include "core/text/textproto.hpp"
#include "host/op_times/kernel_features.hpp"
#include "host/operator_profile.pb.h"

namespace weft {

namespace {

constexpr std::uint32_t profile_version = 3;

std::optional<RowOperator> row_operator_called(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(row_operator_last); ++i) {
    if (to_text(static_cast<RowOperator>(i)) == name) return static_cast<RowOperator>(i);
  }
  return std::nullopt;
}

std::string digest_of(operator_profile::Profile profile) {
  profile.clear_digest();
  return sha256_hex(profile.SerializeAsString());
}

void write(const TreeSettings& from, operator_profile::Settings& to) {
  to.set_is_forest(from.is_forest);
  to.set_trees(from.trees);
  to.set_depth(from.depth);
  to.set_learning_rate(from.learning_rate);
  to.set_min_child_weight(from.min_child_weight);
  to.set_rows_share(from.rows_share);
  to.set_features_share(from.features_share);
  to.set_of_medians(from.of_medians);
}

TreeSettings read_settings(const operator_profile::Settings& from) {
  return {from.is_forest(),        from.trees(),      from.depth(),          from.learning_rate(),
          from.min_child_weight(), from.rows_share(), from.features_share(), from.of_medians()};
}

void write(const RegressorErrors& from, operator_profile::Errors& to) {
  to.set_fitted_rows(from.fitted_rows);
  to.set_validation_rows(from.validation_rows);
  to.set_test_rows(from.test_rows);
  to.set_training(from.training);
  to.set_validation(from.validation);
  to.set_test(from.test);
  to.set_test_law(from.test_law);
  to.set_repeats(from.repeats);
  to.set_repeated_rows(from.repeated_rows);
  to.set_outliers(from.outliers);
}

RegressorErrors read_errors_of(const operator_profile::Errors& from) {
  return {from.fitted_rows(), from.validation_rows(), from.test_rows(), from.training(),      from.validation(),
          from.test(),        from.test_law(),        from.repeats(),   from.repeated_rows(), from.outliers()};
}

void write(const Regressor& from, operator_profile::Regressor& to) {
  to.set_function(from.of.function);
  to.set_pass(from.of.is_whole      ? operator_profile::WHOLE
              : from.of.is_backward ? operator_profile::BACKWARD
                                    : operator_profile::FORWARD);
  to.set_type(std::string(from.of.type.name));
  to.set_nodes(from.of.nodes);
  to.set_gpus_per_node(from.of.gpus_per_node);
  to.set_kernel(std::string(to_text(from.of.kernel.kind)));
  if (from.of.kernel.row_operator) to.set_row_operator(std::string(to_text(*from.of.kernel.row_operator)));
  for (const std::string& size : from.of.sizes) to.add_size(size);
  for (const SampledRange& range : from.ranges) {
    operator_profile::Range& written = *to.add_range();
    written.set_least(range.least);
    written.set_most(range.most);
  }
  for (const double coefficient : from.law.coefficients) to.add_law(coefficient);
  write(from.settings, *to.mutable_settings());
  write(from.errors, *to.mutable_errors());
  for (std::size_t tree = 0; tree < from.trees.size(); ++tree) to.add_tree(from.trees.tree_text(tree));
}

/// Reads one regressor; whatever is wrong is reported, and it must not be used then.
class RegressorReader {
 public:
  RegressorReader(const operator_profile::Regressor& from, const FieldPlaces& places, Diagnostics& diagnostics)
      : from_(from), places_(places), diagnostics_(diagnostics) {}

  Regressor read() {
    Regressor regressor;
    regressor.of = read_function();
    for (const operator_profile::Range& range : from_.range()) regressor.ranges.push_back({range.least(), range.most()});
    regressor.law.coefficients.assign(from_.law().begin(), from_.law().end());
    regressor.settings = read_settings(from_.settings());
    regressor.errors = read_errors_of(from_.errors());
    if (is_sound_) read_numbers(regressor);
    return regressor;
  }

 private:
  void wrong(const char* field, std::string message, int index = 0) {
    is_sound_ = false;
    diagnostics_.error("bad-value", std::move(message), places_.of(from_, field, index), "`weft optimes fit` writes profiles");
  }

  RegressedFunction read_function() {
    RegressedFunction of;
    of.function = from_.function();
    if (of.function.empty()) wrong("function", "the regressor has no function");
    of.is_whole = from_.pass() == operator_profile::WHOLE;
    of.is_backward = from_.pass() == operator_profile::BACKWARD;
    if (from_.pass() == operator_profile::PASS_UNSPECIFIED) wrong("pass", "the regressor has no pass");
    const std::optional<ElementType> type = element_type_named(from_.type());
    if (!type) wrong("type", fmt::format("{} is no element type", in_quotes(from_.type())));
    of.type = type.value_or(ElementType{});
    of.nodes = from_.nodes();
    of.gpus_per_node = from_.gpus_per_node();
    const std::optional<KernelKind> kind = kernel_kind_called(from_.kernel());
    if (!kind) wrong("kernel", fmt::format("{} is no kind of kernel", in_quotes(from_.kernel())));
    of.kernel.kind = kind.value_or(KernelKind::columns);
    of.kernel.row_operator = row_operator_called(from_.row_operator());
    if (!from_.row_operator().empty() && !of.kernel.row_operator) {
      wrong("row_operator", fmt::format("{} is no row-wise operator", in_quotes(from_.row_operator())));
    }
    of.sizes.assign(from_.size().begin(), from_.size().end());
    const bool has_sizes = of.kernel.kind == KernelKind::columns ? !of.sizes.empty() && of.sizes.size() <= columns_max
                                                                 : std::ranges::equal(of.sizes, size_names(of.kernel.kind));
    if (!has_sizes) wrong("size", fmt::format("these are not the sizes of {}", in_quotes(from_.kernel())));
    return of;
  }

  void read_numbers(Regressor& regressor) {
    const RegressedFunction& of = regressor.of;
    if (regressor.ranges.size() != range_names(of).size()) wrong("range", "there is not one range for every size and proportion");
    for (const SampledRange& range : regressor.ranges) {
      if (!(range.least > 0) || !(range.least <= range.most) || !std::isfinite(range.most)) wrong("range", "a range has no sizes");
    }
    if (regressor.law.coefficients.size() != term_count(of.kernel.kind, of.sizes.size())) {
      wrong("law", fmt::format("the law of {} has other terms", in_quotes(from_.kernel())));
    }
    const auto is_coefficient = [](double number) { return std::isfinite(number) && number >= 0; };
    if (!std::ranges::all_of(regressor.law.coefficients, is_coefficient) ||
        std::ranges::all_of(regressor.law.coefficients, [](double number) { return number == 0; })) {
      wrong("law", "the law's coefficients are no times");
    }
    const auto features = static_cast<std::uint32_t>(feature_count(of.kernel.kind, of.sizes.size()));
    for (int i = 0; i < from_.tree_size(); ++i) {
      const std::optional<RegressionTrees::Tree> tree = RegressionTrees::parse(from_.tree(i), features);
      if (!tree) {
        wrong("tree", "this is no tree over the features of its kernel", i);
        return;
      }
      regressor.trees.add(*tree);
    }
  }

  static constexpr std::size_t columns_max = 16;
  const operator_profile::Regressor& from_;
  const FieldPlaces& places_;
  Diagnostics& diagnostics_;
  bool is_sound_ = true;
};

}  // namespace

std::string RegressorProfile::to_text() const {
  operator_profile::Profile written;
  written.set_version(profile_version);
  written.set_gpu(gpu);
  written.set_weft_version(weft_version);
  written.set_seed(seed);
  written.set_test_share(test_share);
  written.set_validation_share(validation_share);
  for (const Input& input : inputs) {
    operator_profile::Input& one = *written.add_input();
    one.set_path(input.path);
    one.set_sha256(input.sha256);
  }
  for (const Outlier& outlier : outliers) {
    operator_profile::Outlier& one = *written.add_outlier();
    one.set_file(outlier.file);
    one.set_line(static_cast<std::uint32_t>(outlier.line));
    one.set_column(outlier.column);
    one.set_time_us(outlier.time_us);
    one.set_law_us(outlier.law_us);
  }
  for (const std::string& note : notes) written.add_note(note);
  for (const Regressor& regressor : regressors) write(regressor, *written.add_regressor());
  written.set_digest(digest_of(written));
  std::string text;
  google::protobuf::TextFormat::PrintToString(written, &text);
  return "# Operator times of " + gpu + ", by `weft optimes fit`\n" + text;
}

RegressorProfile RegressorProfile::read(const SourceText& source) {
  Diagnostics diagnostics;
  operator_profile::Profile from;
  const TextprotoDocument document(source, from, diagnostics);
  diagnostics.throw_if_errors();
  const FieldPlaces places = document.places();
  if (from.version() != profile_version) {
    fail("other-version", fmt::format("the profile is of version {}, this program reads {}", from.version(), profile_version),
         places.of(from, "version"), "fit it anew: weft optimes fit --samples=... --out=...");
  }
  if (from.gpu().empty())
    fail("missing-field", "the profile names no GPU", source.whole_file(), "`weft optimes fit` writes profiles");
  if (from.digest() != digest_of(from)) {
    fail("damaged-profile", "the profile is not as it was written: its digest is another", places.of(from, "digest"),
         "copy it again, or fit it anew: weft optimes fit --samples=... --out=...");
  }
  RegressorProfile profile;
  profile.gpu = from.gpu();
  profile.weft_version = from.weft_version();
  profile.seed = from.seed();
  profile.test_share = from.test_share();
  profile.validation_share = from.validation_share();
  for (const operator_profile::Input& input : from.input()) profile.inputs.push_back({input.path(), input.sha256()});
  for (const operator_profile::Outlier& outlier : from.outlier()) {
    profile.outliers.push_back(
        {outlier.file(), static_cast<int>(outlier.line()), outlier.column(), outlier.time_us(), outlier.law_us()});
  }
  profile.notes.assign(from.note().begin(), from.note().end());
  for (int i = 0; i < from.regressor_size(); ++i) {
    const FieldPlaces inside = places.inside(from, "regressor", i);
    profile.regressors.push_back(RegressorReader(from.regressor(i), inside, diagnostics).read());
  }
  diagnostics.throw_if_errors();
  return profile;
}

void check_gpu(const RegressorProfile& profile, const std::string& gpu, const SourcePlace& place) {
  if (profile.gpu == gpu) return;
  fail("other-gpu", fmt::format("the profile is of {}, not of {}", in_quotes(profile.gpu), in_quotes(gpu)), place,
       "times of one GPU say nothing of another; sample the kernels there");
}

}  // namespace weft
