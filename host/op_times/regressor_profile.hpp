// SPDX-License-Identifier: Apache-2.0
// Regressor profile: all regressors of one GPU type with their errors, settings and origin; a file
// in protobuf text format (operator_profile.proto), often packed with gzip.
//
// Where it sits: `weft optimes fit` writes it, regressor_times answers from it.
// Invariants: what is read back predicts the same, bit by bit; equal samples, seed and shares give
// equal bytes, for any number of threads.
// Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/source_text.hpp"
#include "host/op_times/regressor.hpp"

namespace weft {

struct RegressorProfile {
  struct Input {
    std::string path;
    std::string sha256;  ///< of the unpacked text
  };
  /// A row that was left out as an outlier (time_law.hpp).
  struct Outlier {
    std::string file;
    int line = 0;
    std::string column;  ///< of the time
    double time_us = 0;
    double law_us = 0;  ///< what the other rows tell
  };

  std::string gpu;
  std::string weft_version;
  std::uint64_t seed = 0;
  double test_share = 0;
  double validation_share = 0;
  std::vector<Input> inputs;
  std::vector<Outlier> outliers;
  std::vector<std::string> notes;  ///< functions without a regressor, and why
  std::vector<Regressor> regressors;

  std::string to_text() const;
  /// Throws InputError: what the text format's reader does, [other-version], [damaged-profile],
  /// [bad-value], [missing-field].
  static RegressorProfile read(const SourceText& source);
};

/// Throws InputError [other-gpu].
void check_gpu(const RegressorProfile& profile, const std::string& gpu, const SourcePlace& place);

}  // namespace weft
