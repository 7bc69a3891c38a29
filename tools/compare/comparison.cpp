// SPDX-License-Identifier: Apache-2.0
#include "tools/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

constexpr double significance = 0.05;

/// Relative to the first; infinite from 0.
double change_of(double a, double b) {
  if (a == b) return 0;
  return a == 0 ? std::copysign(std::numeric_limits<double>::infinity(), b) : (b - a) / std::abs(a);
}

std::string value_in(const std::vector<std::pair<std::string, std::string>>& facts, const std::string& name) {
  const auto found = std::ranges::find(facts, name, &std::pair<std::string, std::string>::first);
  return found == facts.end() ? "" : found->second;
}

std::string text_of(const ComparedInput& input) {
  constexpr std::size_t digits = 8;
  return fmt::format("{} ({})", input.path, input.sha256.substr(0, digits));
}

/// Inputs of a role whose contents the other side has none of, in their order.
void compare_inputs(const ComparedSide& a, const ComparedSide& b, std::vector<ComparedText>& differences) {
  const auto others = [](const ComparedSide& side, const ComparedSide& other, const std::string& role) {
    std::vector<const ComparedInput*> left;
    for (const ComparedInput& input : side.inputs) {
      const bool is_there = std::ranges::any_of(
          other.inputs, [&](const ComparedInput& one) { return one.role == input.role && one.sha256 == input.sha256; });
      if (input.role == role && !is_there) left.push_back(&input);
    }
    return left;
  };
  std::vector<std::string> roles;
  for (const ComparedSide* side : {&a, &b}) {
    for (const ComparedInput& input : side->inputs) {
      if (std::ranges::find(roles, input.role) == roles.end()) roles.push_back(input.role);
    }
  }
  for (const std::string& role : roles) {
    const auto of_a = others(a, b, role);
    const auto of_b = others(b, a, role);
    for (std::size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i) {
      differences.push_back({"input " + role, i < of_a.size() ? text_of(*of_a[i]) : "", i < of_b.size() ? text_of(*of_b[i]) : ""});
    }
  }
}

std::vector<ComparedText> compare_what_went_in(const ComparedSide& a, const ComparedSide& b) {
  std::vector<ComparedText> differences;
  std::vector<std::string> names;
  for (const ComparedSide* side : {&a, &b}) {
    for (const auto& [name, value] : side->facts) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    const std::string of_a = value_in(a.facts, name);
    const std::string of_b = value_in(b.facts, name);
    if (of_a != of_b) differences.push_back({name, of_a, of_b});
  }
  std::set<std::string> parameters;
  for (const ComparedSide* side : {&a, &b}) {
    for (const auto& [name, value] : side->parameters) parameters.insert(name);
  }
  for (const std::string& name : parameters) {
    const auto of_a = a.parameters.find(name);
    const auto of_b = b.parameters.find(name);
    const std::string text_a = of_a == a.parameters.end() ? "" : of_a->second;
    const std::string text_b = of_b == b.parameters.end() ? "" : of_b->second;
    if (text_a != text_b || (of_a == a.parameters.end()) != (of_b == b.parameters.end()))
      differences.push_back({"parameter " + name, text_a, text_b});
  }
  compare_inputs(a, b, differences);
  return differences;
}

/// A case's values of a figure, by seed.
std::map<std::uint64_t, double> values_of(const ComparedCase& of, const std::string& figure) {
  std::map<std::uint64_t, double> values;
  for (const auto& [seed, figures] : of.figures) {
    if (const auto found = figures.find(figure); found != figures.end()) values[seed] = found->second;
  }
  return values;
}

std::vector<double> numbers_of(const std::map<std::uint64_t, double>& values) {
  std::vector<double> numbers;
  for (const auto& [seed, value] : values) numbers.push_back(value);
  return numbers;
}

/// None where neither side has a value.
std::optional<ComparedFigure> compare_figure(const ComparedCase& a, const ComparedCase& b, const std::string& name) {
  const std::map<std::uint64_t, double> of_a = values_of(a, name);
  const std::map<std::uint64_t, double> of_b = values_of(b, name);
  if (of_a.empty() && of_b.empty()) return std::nullopt;
  const std::vector<double> numbers_a = numbers_of(of_a);
  const std::vector<double> numbers_b = numbers_of(of_b);
  ComparedFigure figure{.label = a.label, .name = name, .a = mean_interval(numbers_a), .b = mean_interval(numbers_b)};
  if (of_a.size() < 2 || of_b.size() < 2) return figure;
  // Seeds that only one side has, as a run of the other failed, do not cost the others their pairs.
  std::vector<double> paired_a;
  std::vector<double> paired_b;
  for (const auto& [seed, value] : of_a) {
    const auto other = of_b.find(seed);
    if (other == of_b.end()) continue;
    paired_a.push_back(value);
    paired_b.push_back(other->second);
  }
  figure.p_value = paired_a.size() >= 2 ? paired_p_value(paired_a, paired_b) : welch_p_value(numbers_a, numbers_b);
  return figure;
}

/// Holm: from the smallest on, each against a level that grows as fewer are left. Figures that are
/// the same by another name, such as all percentiles of one job, have one p value and are one test;
/// those that never vary are none.
void correct(std::vector<ComparedFigure*> figures) {
  std::set<double> tests;
  std::erase_if(figures, [](const ComparedFigure* figure) { return !figure->p_value; });
  for (const ComparedFigure* figure : figures) {
    if (*figure->p_value > 0 && *figure->p_value < 1) tests.insert(*figure->p_value);
  }
  double largest = 0;  // that is significant
  double left = static_cast<double>(tests.size());
  for (const double p : tests) {
    if (p > significance / left) break;
    largest = p;
    --left;
  }
  for (ComparedFigure* figure : figures) figure->is_significant = *figure->p_value <= largest;
}

bool differ(const ComparedFigure& figure) {
  if (!figure.a || !figure.b) return true;
  // Of several seeds means are sums, which are rounded.
  return figure.p_value ? *figure.p_value < 1 : figure.a->mean != figure.b->mean;
}

std::vector<ComparedNumber> compare_cells(const ComparedSide& a, const ComparedSide& b) {
  std::vector<ComparedNumber> differences;
  const auto number_in = [](const ComparedSide& side, const ComparedCell& cell) {
    const auto found = side.cells.find(cell);
    return found == side.cells.end() ? std::nullopt : std::optional(found->second);
  };
  for (const auto& [cell, number] : a.cells) {
    if (number_in(b, cell) != number) differences.push_back({cell, number, number_in(b, cell)});
  }
  for (const auto& [cell, number] : b.cells) {
    if (!a.cells.contains(cell)) differences.push_back({cell, std::nullopt, number});
  }
  // Tables in turn, the largest change first, those without one of the two last.
  std::ranges::stable_sort(differences, [](const ComparedNumber& x, const ComparedNumber& y) {
    const auto size = [](const ComparedNumber& one) { return std::abs(one.change().value_or(0)); };
    return x.cell.table != y.cell.table ? x.cell.table < y.cell.table : size(x) > size(y);
  });
  return differences;
}

std::uint64_t seeds_of(const ComparedSide& side) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const ComparedCase& one : side.cases) fewest = std::min(fewest, one.figures.size());
  return side.cases.empty() ? 0 : fewest;
}

}  // namespace

std::optional<double> ComparedFigure::change() const {
  if (!a || !b) return std::nullopt;
  return change_of(a->mean, b->mean);
}

std::optional<double> ComparedNumber::change() const { return a && b ? std::optional(change_of(*a, *b)) : std::nullopt; }

bool Comparison::is_past_threshold() const {
  return !only_a.empty() || !only_b.empty() || std::ranges::any_of(figures, &ComparedFigure::is_past_threshold);
}

Comparison compare(const ComparedSide& a, const ComparedSide& b, const ComparisonLimits& limits) {
  if (a.is_study != b.is_study) {
    fail("bad-value",
         fmt::format("{} is a {}, and {} a {}", a.name, a.is_study ? "study" : "run", b.name, b.is_study ? "study" : "run"),
         SourcePlace::named("weft compare"), "compare a run with a run, or a study with a study");
  }
  Comparison comparison;
  std::vector<std::string> names = a.figures;
  for (const std::string& name : b.figures) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  for (const std::string& name : limits.figures) {
    if (std::ranges::find(names, name) == names.end()) {
      fail("unknown-metric", fmt::format("neither side has a figure {}", in_quotes(name)), SourcePlace::named("--metric"),
           suggestion(name, names, "figure"));
    }
  }
  comparison.inputs = compare_what_went_in(a, b);
  comparison.seeds = std::min(seeds_of(a), seeds_of(b));
  for (const ComparedCase& of_a : a.cases) {
    const auto of_b = std::ranges::find(b.cases, of_a.label, &ComparedCase::label);
    if (of_b == b.cases.end()) {
      comparison.only_a.push_back(of_a.label);
      continue;
    }
    for (const std::string& name : names) {
      if (std::optional<ComparedFigure> figure = compare_figure(of_a, *of_b, name))
        comparison.figures.push_back(std::move(*figure));
    }
  }
  for (const ComparedCase& of_b : b.cases) {
    if (std::ranges::find(a.cases, of_b.label, &ComparedCase::label) == a.cases.end()) comparison.only_b.push_back(of_b.label);
  }
  comparison.figures_compared = comparison.figures.size();
  const auto is_watched = [&](const ComparedFigure& figure) {
    return limits.figures.empty() || std::ranges::find(limits.figures, figure.name) != limits.figures.end();
  };
  std::vector<ComparedFigure*> all;
  std::vector<ComparedFigure*> watched;
  for (ComparedFigure& figure : comparison.figures) {
    all.push_back(&figure);
    if (is_watched(figure)) watched.push_back(&figure);
  }
  correct(all);
  correct(watched);
  std::erase_if(comparison.figures, [](const ComparedFigure& figure) { return !differ(figure); });
  for (ComparedFigure& figure : comparison.figures) {
    const double change = std::abs(figure.change().value_or(std::numeric_limits<double>::infinity()));
    figure.is_past_threshold = is_watched(figure) && figure.is_significant && change > limits.threshold;
  }
  std::set<std::string> texts;
  for (const ComparedSide* side : {&a, &b}) {
    for (const auto& [name, text] : side->texts) texts.insert(name);
  }
  for (const std::string& name : texts) {
    const auto of_a = a.texts.find(name);
    const auto of_b = b.texts.find(name);
    const std::string text_a = of_a == a.texts.end() ? "" : of_a->second;
    const std::string text_b = of_b == b.texts.end() ? "" : of_b->second;
    if (text_a != text_b) comparison.texts.push_back({name, text_a, text_b});
  }
  comparison.cells = compare_cells(a, b);
  return comparison;
}

}  // namespace weft
