// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/operator_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "core/text/diagnostics.hpp"
#include "core/text/plain_number.hpp"

namespace weft {

namespace {

SourcePlace setting_place(const std::string& text) { return SourcePlace::named("--set=" + text); }

/// Takes sizes by name, and complains about those that nobody took.
class SizeTaker {
 public:
  SizeTaker(const std::string& name, const std::map<std::string, double>& sizes) : name_(name), sizes_(sizes) {}

  std::uint64_t take(const std::string& size) {
    known_.push_back(size);
    const auto found = sizes_.find(size);
    if (found != sizes_.end()) return whole(size, found->second);
    fail("missing-flag", fmt::format("{} needs {}", name_, size), SourcePlace::named("--set"), fmt::format("add --set={}=N", size));
  }
  std::uint64_t take_or(const std::string& size, std::uint64_t otherwise) {
    known_.push_back(size);
    const auto found = sizes_.find(size);
    return found == sizes_.end() ? otherwise : whole(size, found->second);
  }
  void finish() const {
    for (const auto& [size, value] : sizes_) {
      if (std::ranges::find(known_, size) != known_.end()) continue;
      fail("unknown-setting", fmt::format("{} has no {}", name_, in_quotes(size)), setting_place(size),
           suggestion(size, known_, "size"));
    }
  }

 private:
  static std::uint64_t whole(const std::string& size, double value) {
    constexpr double whole_max = 1e15;
    if (value == std::floor(value) && value <= whole_max) return static_cast<std::uint64_t>(value);
    fail("bad-value", fmt::format("{} is no whole number", size), setting_place(size));
  }

  std::string name_;
  const std::map<std::string, double>& sizes_;
  std::vector<std::string> known_;
};

/// "RMS norm" as "rms_norm".
std::string flag_name(RowOperator what) {
  std::string name(to_text(what));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return letter == ' ' ? '_' : static_cast<char>(std::tolower(letter)); });
  return name;
}

std::optional<RowOperator> row_operator_flag(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(row_operator_last); ++i) {
    if (flag_name(static_cast<RowOperator>(i)) == name) return static_cast<RowOperator>(i);
  }
  return std::nullopt;
}

}  // namespace

std::map<std::string, double> size_settings(const std::vector<std::string>& settings) {
  std::map<std::string, double> sizes;
  for (const std::string& text : settings) {
    const std::size_t mark = text.find('=');
    const std::optional<double> value =
        mark == std::string::npos ? std::nullopt : plain_number<double>(std::string_view(text).substr(mark + 1));
    if (!value || mark == 0) {
      fail("bad-value", fmt::format("{} is no size", in_quotes(text)), setting_place(text), "write --set=rows=4096");
    }
    if (!(*value > 0) || !std::isfinite(*value)) fail("out-of-range", "a size is above 0", setting_place(text));
    if (!sizes.emplace(text.substr(0, mark), *value).second) {
      fail("duplicate-setting", fmt::format("{} is set twice", in_quotes(text.substr(0, mark))), setting_place(text), "keep one");
    }
  }
  return sizes;
}

std::optional<OperatorShape> shape_called(const std::string& name, const std::map<std::string, double>& sizes) {
  SizeTaker taker(name, sizes);
  std::optional<OperatorShape> shape;
  if (name == "matmul") {
    Matmul matmul;
    matmul.rows = taker.take("rows");
    matmul.columns = taker.take("columns");
    matmul.inner = taker.take("inner");
    matmul.groups = taker.take_or("groups", 1);
    shape = matmul;
  } else if (name == "fused_attention") {
    FusedAttention attention;
    attention.batch = taker.take("batch");
    attention.query_heads = taker.take("query_heads");
    attention.key_value_heads = taker.take_or("key_value_heads", attention.query_heads);
    attention.query_length = taker.take("query_length");
    attention.key_length = taker.take_or("key_length", attention.query_length);
    attention.key_width = taker.take("key_width");
    attention.value_width = taker.take_or("value_width", attention.key_width);
    shape = attention;
  } else if (name == "embedding_lookup") {
    EmbeddingLookup embedding;
    embedding.rows = taker.take("rows");
    embedding.width = taker.take("width");
    embedding.table_rows = taker.take("table_rows");
    shape = embedding;
  } else if (name == "optimizer_step") {
    shape = OptimizerStep{taker.take("parameters")};
  } else if (const std::optional<RowOperator> what = row_operator_flag(name)) {
    RowWise rows;
    rows.what = *what;
    rows.rows = taker.take("rows");
    rows.width = taker.take("width");
    shape = rows;
  }
  if (shape) taker.finish();
  return shape;
}

}  // namespace weft
