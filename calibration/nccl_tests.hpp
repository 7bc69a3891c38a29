// SPDX-License-Identifier: Apache-2.0
// nccl-tests: what the programs of nccl-tests and rccl-tests print, as measured times of
// collectives.
//
// Where it sits: calibration/measured_times, for tables that are no CSV.
//
//   # Collective test starting: all_reduce_perf
//   #  Rank  0 Group  0 Pid  4711 on  host1 device  0 [0x07] NVIDIA H100 80GB HBM3
//   #       size    count   type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw ...
//   #        (B)  (elements)                    (us) (GB/s) (GB/s)          (us) (GB/s) (GB/s)
//         1048576   262144  float    sum    -1  51.40  20.40  30.60      0  52.74  19.88  29.82 ...
// A line gives the size, which is that of the larger buffer, and the time out of place. Of an
// all_gather or gather, which runs list with a rank's own share, that is all ranks' together: it is
// divided. Ranks are counted; releases before 2.13 do not print which collective it is, which must
// be said then.
// Errors: [missing-kind], [unknown-kind], [no-ranks], [no-measurements], [bad-value] with its line.
// Threads: pure.
#pragma once

#include <string_view>

#include "calibration/measured_times.hpp"

namespace weft {

/// `kind`: "all_reduce"; empty: as the text says. Throws InputError.
MeasuredTimes read_nccl_tests(const SourceText& source, std::string_view kind);

}  // namespace weft
