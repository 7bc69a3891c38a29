// SPDX-License-Identifier: Apache-2.0
// Error breakdown: how far simulated times are from measured ones before and after a fit, by
// message size, by job size and by host.
//
// Where it sits: after a calibration, for its page (tools/calibrate/calibration_page) and table.
//
// Model: the error of a row is |T - M| / M, with T simulated and M measured, a share as all errors
// here. Classes have their mean, the MAPE (mean absolute percentage error) of the paper:
//   message size   4^k up to 4^(k+1) bytes (figure 5): sweeps double sizes, so a class has two of
//                  them, and 64 B to 16 GiB are fifteen classes, of which latencies decide the
//                  small ones and rates the large ones
//   job size       2^k up to 2^(k+1) GPUs (figure 6)
//   host           each host's mean; the share of hosts with at most that error (figure 7)
//
// Invariants
//   1. A row without a measured time above zero, or without a simulated one, counts nowhere but
//      among `left_out`; one whose size, job or host is not known is left out of that figure only.
//   2. Classes are in order of size, hosts in order of their error after the fit, then of name.
//   3. Order of the rows does not matter, but for the rounding of sums.
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// A measured time and what was simulated for it; NaN where nothing was.
struct TimedError {
  double measured_s = 0;
  double before_s = 0;                      ///< with the scenario as it stands
  double after_s = 0;                       ///< with the fitted parameters
  std::optional<std::uint64_t> size_bytes;  ///< of the message
  std::optional<std::uint64_t> gpus;        ///< of the job
  std::string host;                         ///< that a flow comes from; empty: not known
  bool is_held_out = false;                 ///< from the search
};

/// The measured time is above zero, and both errors are finite.
bool has_error(const TimedError& row);
/// (simulated - measured) / measured, a share with its sign.
double relative_time_error(double simulated_s, double measured_s);

/// Where relative errors lie: shares with their signs.
struct ErrorSpread {
  double percentile_5 = 0;
  double lower_quartile = 0;
  double median = 0;
  double upper_quartile = 0;
  double percentile_95 = 0;
};

struct ErrorClass {
  std::string label;          ///< its least size: "64 KiB", "8 GPUs"
  std::uint64_t minimum = 0;  ///< bytes or GPUs
  std::uint64_t maximum = 0;  ///< the last one of the class
  std::uint64_t count = 0;    ///< rows, > 0
  double before_mape = 0;     ///< share, as the next
  double after_mape = 0;
  ErrorSpread before;
  ErrorSpread after;
};

struct HostError {
  std::string host;
  std::uint64_t count = 0;
  double before_mape = 0;  ///< share, as the next
  double after_mape = 0;
};

struct CdfPoint {
  double error = 0;  ///< share
  double hosts = 0;  ///< share of hosts whose mean error is no more than that
};

struct ErrorBreakdown {
  std::uint64_t left_out = 0;
  std::vector<ErrorClass> by_message_size;
  std::vector<ErrorClass> by_job_size;
  std::vector<HostError> by_host;
  /// A point for each error that a host has, rising; the last has all hosts.
  std::vector<CdfPoint> host_cdf_before;
  std::vector<CdfPoint> host_cdf_after;

  /// CSV (RFC 4180): figure,class,count,before_mape,after_mape; errors are shares. `figure` is
  /// message_size, job_size or host_cdf, whose class is a host. The curve of figure 7 is that of
  /// ranks: the i-th of n hosts is at i / n.
  std::string to_csv() const;
};

ErrorBreakdown break_down_errors(std::span<const TimedError> rows);

}  // namespace weft
