// SPDX-License-Identifier: Apache-2.0
// Sampled tables: measured times of kernels and collectives on one GPU type, as estimate-train-time
// and tools/kernel_sampler write them.
//
// Where it sits: look-ups (tabled_times) and regressors (regressor_search) are made of these.
// A file GPU_FUNCTION_TYPE.csv or GPU_FUNCTION_TYPE_NODES_GPUS.csv, TYPE an element type in any
// case (fp16), NODES and GPUS (per node) of a collective. Its columns are sizes, in any order, and
// times in microseconds: F_dur(us) and B_dur(us) of forward and backward, or dur(us) of what has no
// backward (also "dur"). Collectives have shape (elements of TYPE), nodes, GPUsPerNode.
// Read strictly: every size and time is a number above 0. Rows may repeat each other.
// A folder is read with its subfolders, files in the order of their paths; files that are called
// otherwise are left out with a note.
// Threads: pure functions and values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/source_text.hpp"
#include "workloads/dag/element_type.hpp"

namespace weft {

struct SampledRow {
  std::vector<double> sizes;  ///< as the columns
  double forward_us = 0;      ///< or of all there is
  double backward_us = 0;     ///< 0 where the table has none
  int line = 0;
};

/// What a file's name says.
struct SampledName {
  std::string gpu;
  std::string function;
  ElementType type;
  std::uint32_t nodes = 0;  ///< 0: the name says none
  std::uint32_t gpus_per_node = 0;
};
/// Of a name without folder; none if it is no table of samples.
std::optional<SampledName> parse_sampled_name(std::string_view file);

struct SampledTable {
  std::string path;
  std::string sha256;  ///< of the unpacked text
  SampledName name;
  std::vector<std::string> columns;  ///< of sizes
  bool has_backward = false;
  std::vector<SampledRow> rows;
};

/// Throws InputError [missing-column], [duplicate-column], [wrong-field-count], [bad-value],
/// [out-of-range], [too-many-columns], [no-rows] and what text files have.
SampledTable read_sampled_table(const SourceText& source, SampledName name);
constexpr std::size_t sampled_columns_max = 16;

struct SampledFolder {
  std::vector<SampledTable> tables;  ///< all of one GPU
  std::vector<std::string> notes;
  std::string gpu;
};
/// Tables of all folders together; a path may be a single file, too. Throws InputError
/// [no-samples], [several-gpus], [no-file], [bad-sample-name], and what read_sampled_table() does
/// of all files together.
SampledFolder read_samples(const std::vector<std::string>& paths);

}  // namespace weft
