// SPDX-License-Identifier: Apache-2.0
// Candidate journal: what candidates of a calibration came to, in a file that grows with them.
//
// Where it sits: the calibrator asks it before it simulates, so that a search that was cut off,
// or killed, goes on where it was.
// Format: a line that says of what it is, then a line per candidate: its values and what it came
// to, as hexadecimal doubles. A line that was cut off, or is no such line, counts as not written.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "calibration/fit_parameter.hpp"

namespace weft {

/// Of a candidate, all that any cost follows from.
struct CandidateErrors {
  double error = 0;    ///< Objective::value() with lambda = 0; infinite: there is no simulation
  double penalty = 0;  ///< what is added to it per lambda
  double mape = 0;
  double cost(double lambda) const { return lambda == 0 ? error : error + lambda * penalty; }
};

class CandidateJournal {
 public:
  enum class Other : std::uint8_t { refused, replaced };

  /// `of`: a line that is the same exactly where candidates are. Empty path: nothing is kept.
  /// Throws InputError [other-journal] if the file is of something else and that is refused,
  /// [cannot-write].
  CandidateJournal(std::string path, const std::string& of, std::size_t parameters, Other other);

  const std::map<FitPoint, CandidateErrors>& known() const { return known_; }
  void add(const FitPoint& point, const CandidateErrors& errors);
  /// What was added is in the file. Throws InputError [cannot-write].
  void flush();

 private:
  [[noreturn]] void fail_to_write() const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::map<FitPoint, CandidateErrors> known_;
};

}  // namespace weft
