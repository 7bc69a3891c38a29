// SPDX-License-Identifier: Apache-2.0
// Tables: file, columns, units and meanings of every result that is a table.
//
// Where it sits: tools/results/folder_sink writes by them, the reference in the documentation
// prints them. A new column goes to the end, as scripts read columns by their place.
// Thread safety: constants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/results/rows.hpp"
#include "tools/results/table.hpp"

namespace weft {

#define WEFT_TABLE(Row)                            \
  template <>                                      \
  struct TableOf<Row> {                            \
    static const TableInfo info;                   \
    static std::span<const Column<Row>> columns(); \
  }
WEFT_TABLE(JobRow);
WEFT_TABLE(AttemptRow);
WEFT_TABLE(ClusterRow);
WEFT_TABLE(IterationRow);
WEFT_TABLE(CommunicatorRow);
WEFT_TABLE(CollectiveRow);
WEFT_TABLE(FlowRow);
WEFT_TABLE(LinkRow);
WEFT_TABLE(PauseStormRow);
WEFT_TABLE(EventRow);
WEFT_TABLE(CongestionRow);
WEFT_TABLE(CongestedJobRow);
WEFT_TABLE(AlignedJobRow);
WEFT_TABLE(LinkSampleRow);
WEFT_TABLE(TierSampleRow);
#undef WEFT_TABLE

/// The first line of a table's file.
template <class Row>
std::string header_line() {
  std::string line;
  for (const Column<Row>& column : TableOf<Row>::columns()) {
    if (!line.empty()) line += ',';
    line += column.info.name;
  }
  return line;
}

/// A table without its rows' type, for whoever describes results.
struct TableDescription {
  TableInfo info;
  std::vector<ColumnInfo> columns;
};

/// All of them, in the order of the documentation.
std::vector<TableDescription> all_tables();

}  // namespace weft
