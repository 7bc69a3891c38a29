// SPDX-License-Identifier: Apache-2.0
// Out of memory: std::bad_alloc that says what the program was at.
//
// Where it sits: whoever reads a file or runs a simulation does so inside naming_memory_use(); the
// command line prints the innermost name.
// Thread safety: pure functions.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

namespace weft {

class OutOfMemory : public std::exception {
 public:
  explicit OutOfMemory(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// work(); what it runs out of memory at is `stage`, such as "while reading jobs.csv", unless it
/// has said so itself.
template <class Work>
auto naming_memory_use(const std::string& stage, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("out of memory " + stage);
  }
}

}  // namespace weft
