// SPDX-License-Identifier: Apache-2.0
// External times: operator times from a user's model of a chip, a program that is asked over lines
// of JSON.
//
// Where it sits: a source like any other in a chain of operator times.
// Protocol, a line each, Weft first:
//   {"weft_operator_times": 1}                      version that Weft speaks
//   {"weft_operator_times": 1, "name": "my chip"}   version and name of the model
//   {"id": 1, "pass": "forward", "type": "BF16", "operator": "matmul", "name": "qkv",
//    "rows": 16384, "columns": 6144, "inner": 4096, "groups": 1}       (one line)
//   {"id": 1, "time_us": 812.5}                     or null: the model does not know
//   {"id": 1, "error": "..."}                       the run ends with that text
// pass: forward, backward, backward_input, backward_weight. operator and its sizes: the types of
// workloads/models/operator.hpp and their members by name.
// Invariants: every question is asked once; the answer must depend on nothing else, since the order
// of questions does on threads.
// Threads: const functions may be called from any thread; one question at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/op_times/line_process.hpp"
#include "host/op_times/operator_times.hpp"

namespace weft {

class ExternalTimes final : public OperatorTimes {
 public:
  static constexpr int protocol_version = 1;
  static constexpr std::chrono::milliseconds timeout_default{10'000};

  /// Starts the program. Throws InputError [external-not-started], [external-version] and what
  /// answers throw.
  explicit ExternalTimes(std::vector<std::string> command, std::chrono::milliseconds timeout = timeout_default);

  /// Throws InputError [external-bad-answer], [external-error] and what LineProcess throws.
  std::optional<Duration> time_of(const Operator& op, OperatorPass pass) const override;
  /// "external: my chip".
  std::string origin() const override;

  std::uint64_t asked() const;

 private:
  mutable std::mutex asking_;
  mutable LineProcess process_;
  /// By question, without its number.
  mutable std::map<std::string, std::optional<Duration>> answers_;
  std::string chip_;
};

}  // namespace weft
