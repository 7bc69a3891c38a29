// SPDX-License-Identifier: Apache-2.0
#include "host/op_times/regression_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/values/median.hpp"

namespace weft {

namespace {

/// Order of regressors in a profile.
auto order_of(const RegressedFunction& of) {
  return std::tuple(of.function, of.type.name, of.nodes, of.gpus_per_node, of.is_backward, of.sizes);
}

class RowCollector {
 public:
  explicit RowCollector(const SampledFolder& samples) : samples_(samples) {
    for (std::size_t table = 0; table < samples.tables.size(); ++table) add_table(table);
  }

  std::vector<RegressionRows> take() {
    std::vector<RegressionRows> all;
    all.reserve(found_.size());
    for (auto& [order, found] : found_) all.push_back(std::move(found.rows));
    return all;
  }

 private:
  struct Found {
    RegressionRows rows;
    /// By sizes and time, where such a row stood first.
    std::map<std::pair<std::vector<double>, double>, std::size_t> tables;
  };

  void add_table(std::size_t at) {
    const SampledTable& table = samples_.tables[at];
    const KernelId kernel = kernel_of_function(table.name.function, table.columns);
    RegressedFunction of;
    of.function = table.name.function;
    of.is_whole = !table.has_backward;
    of.kernel = kernel;
    of.type = table.name.type;
    of.nodes = table.name.nodes;
    of.gpus_per_node = table.name.gpus_per_node;
    of.sizes = table.columns;
    if (kernel.kind != KernelKind::columns) of.sizes = names_of(kernel.kind);
    for (const SampledRow& row : table.rows) {
      const ColumnValues values{table.columns, row.sizes};
      if (kernel.kind == KernelKind::message) {
        of.nodes = static_cast<std::uint32_t>(std::min(values.of("nodes").value_or(1), counted_max));
        of.gpus_per_node = static_cast<std::uint32_t>(std::min(values.of("GPUsPerNode").value_or(1), counted_max));
      }
      const std::vector<double> sizes = kernel_sizes(of.function, kernel, of.type, values);
      add_row(of, sizes, row, at);
      const std::optional<PooledKernel> pooled = pooled_kernel(kernel, sizes);
      if (!pooled) continue;
      RegressedFunction together = of;
      together.function = pooled->function;
      together.kernel = pooled->kernel;
      together.sizes = names_of(pooled->kernel.kind);
      add_row(together, pooled->sizes, row, at);
    }
  }

  void add_row(RegressedFunction of, const std::vector<double>& sizes, const SampledRow& row, std::size_t table) {
    for (const bool is_backward : {false, true}) {
      if (is_backward && !samples_.tables[table].has_backward) continue;
      of.is_backward = is_backward;
      Found& found = found_[order_of(of)];
      if (found.rows.rows.empty()) {
        found.rows.of = of;
        found.rows.time_column = of.is_whole ? "dur(us)" : is_backward ? "B_dur(us)" : "F_dur(us)";
      }
      const double time_us = is_backward ? row.backward_us : row.forward_us;
      const auto [first, is_new] = found.tables.emplace(std::pair(sizes, time_us), table);
      // Two functions may take equally long; two files of one function say the same twice.
      const bool is_pooled = of.function != samples_.tables[table].name.function;
      if (is_new || is_pooled || first->second == table) found.rows.rows.push_back({sizes, time_us, table, row.line});
    }
  }

  static std::vector<std::string> names_of(KernelKind kind) {
    const auto names = size_names(kind);
    return {names.begin(), names.end()};
  }

  static constexpr double counted_max = 1e9;
  const SampledFolder& samples_;
  std::map<decltype(order_of(RegressedFunction())), Found> found_;
};

}  // namespace

std::vector<RegressionRows> regression_rows(const SampledFolder& samples) { return RowCollector(samples).take(); }

std::vector<std::vector<std::size_t>> rows_by_kernel(const std::vector<RegressionRow>& rows) {
  std::map<std::vector<double>, std::vector<std::size_t>> kernels;
  for (std::size_t i = 0; i < rows.size(); ++i) kernels[rows[i].sizes].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  groups.reserve(kernels.size());
  for (auto& [sizes, group] : kernels) groups.push_back(std::move(group));
  return groups;
}

RepeatError repeat_error(const RegressionRows& rows) {
  RepeatError error;
  const std::vector<std::vector<std::size_t>> kernels = rows_by_kernel(rows.rows);
  const auto count = [&error](double expected_us, double measured_us) {
    error.mape += std::abs(expected_us / measured_us - 1);
    ++error.rows;
  };
  const auto time_at = [&rows](std::size_t i) { return rows.rows[i].time_us; };
  if (rows.of.kernel.kind == KernelKind::message) {
    for (std::size_t i = 1; i + 1 < kernels.size(); ++i) {
      const double before = time_at(kernels[i - 1].front());
      const double behind = time_at(kernels[i + 1].front());
      count(std::sqrt(before * behind), time_at(kernels[i].front()));
    }
  } else {
    for (const std::vector<std::size_t>& kernel : kernels) {
      for (const std::size_t row : kernel) {
        std::vector<double> others;
        for (const std::size_t other : kernel) {
          if (other != row) others.push_back(time_at(other));
        }
        if (!others.empty()) count(median(std::move(others)), time_at(row));
      }
    }
  }
  if (error.rows > 0) error.mape /= static_cast<double>(error.rows);
  return error;
}

}  // namespace weft
