// SPDX-License-Identifier: Apache-2.0
// `weft tables`: the columns of the tables that runs write, with their units and meanings.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text/diagnostics.hpp"
#include "core/text/printed_json.hpp"
#include "tools/results/tables.hpp"
#include "tools/weft/commands.hpp"

namespace weft {

namespace {

struct TablesOptions {
  std::string name;
  bool json = false;
};

std::vector<TableDescription> tables_called(const std::string& name) {
  std::vector<TableDescription> tables = all_tables();
  if (name.empty()) return tables;
  std::vector<std::string> known;
  for (const TableDescription& table : tables) known.emplace_back(table.info.file);
  const auto is_called = [&name](const TableDescription& table) {
    return table.info.file == name || table.info.file == name + ".csv";
  };
  std::erase_if(tables, [&](const TableDescription& table) { return !is_called(table); });
  if (tables.empty())
    fail("unknown-table", fmt::format("there is no table \"{}\"", name), SourcePlace::named("weft tables"),
         suggestion(name, known, "table"));
  return tables;
}

void print_json(const std::vector<TableDescription>& tables) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const TableDescription& table : tables) {
    nlohmann::ordered_json columns = nlohmann::ordered_json::array();
    for (const ColumnInfo& column : table.columns)
      columns.push_back({{"name", column.name}, {"unit", column.unit}, {"meaning", column.meaning}});
    json.push_back({{"file", table.info.file}, {"meaning", table.info.meaning}, {"when", table.info.when}, {"columns", columns}});
  }
  std::cout << printed_json(json) << "\n";
}

void print(const std::vector<TableDescription>& tables) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const TableInfo& info = tables[i].info;
    std::cout << (i > 0 ? "\n" : "") << info.file << (info.when.empty() ? "" : fmt::format(": {}", info.when)) << "\n  "
              << info.meaning << "\n";
    std::size_t width = 0;
    for (const ColumnInfo& column : tables[i].columns) width = std::max(width, column.name.size());
    for (const ColumnInfo& column : tables[i].columns)
      std::cout << fmt::format("  {:<{}}  {}\n", column.name, width, column.meaning);
  }
}

}  // namespace

void add_tables_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<TablesOptions>();
  CLI::App* command = app.add_subcommand("tables", "List the columns of the tables that runs write");
  command->footer(
      "Examples:\n"
      "  weft tables\n"
      "  weft tables flows\n"
      "  weft tables --json\n"
      "Units stand last in names: _s seconds, _ns nanoseconds, _bytes, _bps bits per second.");
  command->add_option("table", options->name, "A single one, as flows or flows.csv")->type_name("TABLE");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &action] {
    action = [options] {
      const std::vector<TableDescription> tables = tables_called(options->name);
      options->json ? print_json(tables) : print(tables);
      return exit_done;
    };
  });
}

}  // namespace weft
