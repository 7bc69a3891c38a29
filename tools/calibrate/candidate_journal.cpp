// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/candidate_journal.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/diagnostics.hpp"

namespace weft {

namespace {

constexpr std::size_t errors_per_line = 3;

/// The numbers of a line; empty if there are not so many.
std::vector<double> numbers_of(const std::string& line, std::size_t count) {
  std::vector<double> numbers;
  const char* at = line.c_str();
  while (*at != '\0') {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at || std::isnan(numbers.back())) return {};
    at = *end == ' ' ? end + 1 : end;
  }
  return numbers.size() == count ? numbers : std::vector<double>();
}

}  // namespace

CandidateJournal::CandidateJournal(std::string path, const std::string& of, std::size_t parameters, Other other)
    : path_(std::move(path)), file_(nullptr, &std::fclose) {
  if (path_.empty()) return;
  std::string kept = of + "\n";
  if (std::ifstream before(path_, std::ios::binary); before) {
    std::string line;
    const bool is_other = std::getline(before, line) && line != of;
    if (is_other && other == Other::refused) {
      fail("other-journal", fmt::format("{} is of other candidates", in_quotes(path_)), SourcePlace::named(path_),
           "scenario, measurements, parameters or program are not what they were: add --anew to begin anew");
    }
    while (!is_other && std::getline(before, line) && !before.eof()) {
      const std::vector<double> numbers = numbers_of(line, parameters + errors_per_line);
      if (numbers.empty()) continue;
      const auto errors = numbers.end() - errors_per_line;
      known_[FitPoint(numbers.begin(), errors)] = {errors[0], errors[1], errors[2]};
      kept += line + "\n";
    }
  }
  // Written anew under another name first, so that a line that was cut off has no other behind it
  // and nothing is lost meanwhile.
  const std::string fresh = path_ + ".new";
  file_.reset(std::fopen(fresh.c_str(), "wb"));
  if (file_ == nullptr || std::fwrite(kept.data(), 1, kept.size(), file_.get()) != kept.size()) fail_to_write();
  flush();
  if (std::rename(fresh.c_str(), path_.c_str()) != 0) fail_to_write();
}

void CandidateJournal::fail_to_write() const {
  fail("cannot-write", fmt::format("{} cannot be written: {}", in_quotes(path_), std::strerror(errno)), SourcePlace::named(path_),
       "choose another place with --out");
}

void CandidateJournal::add(const FitPoint& point, const CandidateErrors& errors) {
  known_[point] = errors;
  if (file_ == nullptr) return;
  std::string line;
  for (const double value : point) line += fmt::format("{:a} ", value);
  line += fmt::format("{:a} {:a} {:a}\n", errors.error, errors.penalty, errors.mape);
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size()) fail_to_write();
}

void CandidateJournal::flush() {
  if (file_ != nullptr && std::fflush(file_.get()) != 0) fail_to_write();
}

}  // namespace weft
