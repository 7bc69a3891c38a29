// SPDX-License-Identifier: Apache-2.0
// Kineto splits: how the all-to-alls of a profiler trace divide their buffers.
//
// Where it sits: between formats/kineto_communication and formats/kineto, which joins the rows of
// all ranks into tables.
//
// "In split size" and "Out split size" list, per position of the group, rows of the tensor (its
// first dimension), not elements: a row holds "In msg nelems" / sum elements. "[]" of an
// all_to_allv divides evenly; of any other it says nothing. PyTorch lists 30 positions at most
// ("[1, 2, ..., ...]"): larger groups do not say how they divide.
// Thread safety: pure functions; a table set belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "workloads/dag/dag.hpp"
#include "workloads/dag/element_type.hpp"
#include "workloads/formats/kineto/kineto_communication.hpp"

namespace weft {

/// What one rank sends to each position of its group, and receives from it.
struct KinetoSplit {
  std::vector<Bytes> sent;
  std::vector<Bytes> received;  ///< empty if the trace does not say it
};

/// None if the trace does not say to whom how much is sent.
std::optional<KinetoSplit> kineto_split(const KinetoCommunication& communication, const ElementType& type,
                                        std::uint32_t group_size);

/// Tables of a workload, each kept once.
class SplitTableSet {
 public:
  /// Index of the table with these bytes, row by row. Requires: square, `positions` rows.
  std::uint32_t index_of(std::uint32_t positions, const std::vector<Bytes>& bytes);
  const SplitTable& operator[](std::uint32_t index) const { return tables_[index]; }
  std::vector<SplitTable> take() && { return std::move(tables_); }

 private:
  std::vector<SplitTable> tables_;
  std::map<std::vector<Bytes>, std::uint32_t> known_;
};

}  // namespace weft
