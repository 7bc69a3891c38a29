// SPDX-License-Identifier: Apache-2.0
// Calibration profile: fitted parameters, what they were fitted to, and how far they can be
// trusted; a file in protobuf text format (profile.proto).
//
// Where it sits: `weft calibrate` writes it; runs take its values (--profile).
// Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/alignment.hpp"
#include "core/text/source_text.hpp"

namespace weft {

struct CalibrationProfile {
  enum class Knowledge : std::uint8_t { unknown, identified, loose, free };
  enum class Stamp : std::uint8_t { calibrated, transferred };
  struct Input {
    std::string role;
    std::string path;
    std::string sha256;
  };
  struct Parameter {
    std::string name;   ///< "module.param"
    std::string value;  ///< with unit, as the others
    std::string start;
    std::string minimum;
    std::string maximum;
    std::string low;  ///< of its interval; empty if none was found, like the next
    std::string high;
    Knowledge knowledge = Knowledge::unknown;
    Stamp stamp = Stamp::calibrated;
    int line = 0;  ///< in the file that it was read from
  };
  struct Weight {
    std::string of;  ///< "iteration", "case NAME"
    double weight = 1;
  };
  struct Errors {
    std::uint64_t count = 0;
    double mape = 0;
    double ordering_accuracy = 1;
  };

  std::string weft_version;
  std::string date;  ///< "2026-01-31T02:15:00Z"
  std::string machine;
  std::vector<Input> inputs;
  std::vector<Parameter> parameters;
  Errors before;
  Errors training;
  Errors hold_out;  ///< count 0: nothing was held out, and the others say nothing
  double lambda = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t outliers = 0;
  std::string search;
  std::uint64_t runs = 0;
  std::string night;  ///< "2026-01-31"; empty: none
  std::optional<Alignment> alignment;
  std::vector<Weight> weights;  ///< that are not 1

  std::string to_text() const;  ///< the file's
  /// Throws InputError: what the text format's reader does, [missing-field],
  /// [unknown-term], [duplicate-setting], [bad-value].
  static CalibrationProfile read(const SourceText& source);
};

std::string_view to_text(CalibrationProfile::Knowledge knowledge);
/// The inverse; unknown for all other names.
CalibrationProfile::Knowledge knowledge_called(std::string_view name);
std::string_view to_text(CalibrationProfile::Stamp stamp);
/// "iteration 400, case monday 2; else 1". Requires: a weight at least.
std::string to_text(const std::vector<CalibrationProfile::Weight>& weights);

}  // namespace weft
