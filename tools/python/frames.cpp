// SPDX-License-Identifier: Apache-2.0
#include "tools/python/frames.hpp"

#include <pybind11/numpy.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tools/python/text.hpp"
#include "tools/results/tables.hpp"

namespace weft::python {

namespace {

namespace py = pybind11;

/// An array that owns the memory of a vector.
template <class Value>
py::array array_of(std::vector<Value> values) {
  auto owned = std::make_unique<std::vector<Value>>(std::move(values));
  std::vector<Value>* const held = owned.release();
  const py::capsule owner(held, [](void* memory) { delete static_cast<std::vector<Value>*>(memory); });
  return py::array_t<Value>(static_cast<py::ssize_t>(held->size()), held->data(), owner);
}

constexpr std::size_t empty_cell = 0;
constexpr std::size_t text_cell = 1;
constexpr std::size_t signed_cell = 2;
constexpr std::size_t unsigned_cell = 3;
static_assert(std::is_same_v<std::variant_alternative_t<text_cell, Cell>, std::string_view>);
static_assert(std::is_same_v<std::variant_alternative_t<unsigned_cell, Cell>, std::uint64_t>);

/// What the column's cells are, by the first that is not empty.
template <class Row>
std::size_t kind_of(const Column<Row>& column, std::span<const Row> rows) {
  if (const std::size_t kind = column.cell(Row()).index(); kind != empty_cell) return kind;
  for (const Row& row : rows) {
    if (const std::size_t kind = column.cell(row).index(); kind != empty_cell) return kind;
  }
  return empty_cell;
}

template <class Row>
py::object texts_of(const Column<Row>& column, std::span<const Row> rows) {
  std::vector<std::int32_t> codes;
  codes.reserve(rows.size());
  std::unordered_map<std::string_view, std::int32_t> known;  // looked up only
  py::list texts;
  for (const Row& row : rows) {
    const Cell cell = column.cell(row);
    const auto* const text = std::get_if<std::string_view>(&cell);
    if (text == nullptr) {
      codes.push_back(-1);
      continue;
    }
    const auto [place, is_new] = known.emplace(*text, static_cast<std::int32_t>(known.size()));
    if (is_new) texts.append(text_of(*text));
    codes.push_back(place->second);
  }
  return py::make_tuple(array_of(std::move(codes)), texts);
}

template <class Value, class Row>
py::object counts_of(const Column<Row>& column, std::span<const Row> rows) {
  std::vector<std::int64_t> values;
  values.reserve(rows.size());
  std::vector<std::uint8_t> is_empty;
  is_empty.reserve(rows.size());
  bool has_holes = false;
  for (const Row& row : rows) {
    const Cell cell = column.cell(row);
    const auto* const value = std::get_if<Value>(&cell);
    values.push_back(value == nullptr ? 0 : static_cast<std::int64_t>(*value));
    is_empty.push_back(value == nullptr ? 1 : 0);
    has_holes = has_holes || value == nullptr;
  }
  py::array array = array_of(std::move(values));
  if (!has_holes) return array;
  return py::make_tuple(array, array_of(std::move(is_empty)).attr("view")("bool"));
}

double number_in(const Cell& cell) {
  if (const auto* const time = std::get_if<Duration>(&cell)) return time->in_ns();
  if (const auto* const value = std::get_if<double>(&cell)) return *value;
  return std::numeric_limits<double>::quiet_NaN();
}

template <class Row>
py::dict columns_of_rows(std::span<const Row> rows) {
  py::dict columns;
  for (const Column<Row>& column : TableOf<Row>::columns()) {
    const py::str name = text_of(column.info.name);
    switch (kind_of(column, rows)) {
      case text_cell:
        columns[name] = texts_of(column, rows);
        break;
      case signed_cell:
        columns[name] = counts_of<std::int64_t>(column, rows);
        break;
      case unsigned_cell:
        columns[name] = counts_of<std::uint64_t>(column, rows);
        break;
      default: {
        std::vector<double> values;
        values.reserve(rows.size());
        for (const Row& row : rows) values.push_back(number_in(column.cell(row)));
        columns[name] = array_of(std::move(values));
      }
    }
  }
  return columns;
}

/// The tables that a MemorySink has, each with its rows.
constexpr std::tuple kept_tables = {&MemorySink::jobs,         &MemorySink::attempts,      &MemorySink::cluster,
                                    &MemorySink::iterations,   &MemorySink::communicators, &MemorySink::collectives,
                                    &MemorySink::flows,        &MemorySink::links,         &MemorySink::pause_storms,
                                    &MemorySink::events,       &MemorySink::congestion,    &MemorySink::congested_jobs,
                                    &MemorySink::link_samples, &MemorySink::tier_samples};

template <class Row>
Row row_of(std::vector<Row> MemorySink::*);

/// "jobs" of jobs.csv.
std::string name_of(const TableInfo& info) { return std::string(info.file.substr(0, info.file.find('.'))); }

void for_each_table(const auto& take) {
  std::apply([&](auto... table) { (take(table), ...); }, kept_tables);
}

}  // namespace

py::dict columns_of(const MemorySink& rows, const std::string& table) {
  py::dict columns;
  bool is_known = false;
  for_each_table([&](auto member) {
    using Row = decltype(row_of(member));
    if (name_of(TableOf<Row>::info) != table) return;
    is_known = true;
    columns = columns_of_rows<Row>(rows.*member);
  });
  if (!is_known) throw py::key_error(table);
  return columns;
}

py::dict table_descriptions() {
  py::dict tables;
  for_each_table([&](auto member) {
    using Row = decltype(row_of(member));
    py::dict columns;
    for (const Column<Row>& column : TableOf<Row>::columns())
      columns[text_of(column.info.name)] = py::make_tuple(text_of(column.info.unit), text_of(column.info.meaning));
    const TableInfo& info = TableOf<Row>::info;
    tables[text_of(name_of(info))] = py::make_tuple(text_of(info.meaning), text_of(info.when), columns);
  });
  return tables;
}

}  // namespace weft::python
