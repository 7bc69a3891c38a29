// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/solver_steps.hpp"

#include <sstream>
#include <stdexcept>

#include "tests/network/max_min/random_fabric.hpp"

namespace weft {

namespace {

constexpr double kErrorMax = 1e-9;
constexpr std::size_t kBatchesMax = 100;
constexpr std::size_t kFlowsMax = 60;

/// Choices from bytes, the first one after all are used up always.
class ByteChoices {
 public:
  explicit ByteChoices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t below(std::uint64_t n) {
    std::uint64_t chosen = 0;
    for (std::uint64_t reach = 1; reach < n && !bytes_.empty(); reach *= 256) {
      chosen = 256 * chosen + bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return chosen % n;
  }
  bool used_up() const { return bytes_.empty(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace

SolverSteps drive_solver(std::span<const std::uint8_t> bytes) {
  ByteChoices choices(bytes);
  RandomFabric<ByteChoices> fabric(choices);
  SolverSteps steps;
  while (!choices.used_up() && steps.batches < kBatchesMax && fabric.flows().size() < kFlowsMax) {
    fabric.change(8);
    ++steps.batches;
    steps.flows_checked += fabric.flows().size();
    const double floor = 0.1 * fabric.largest_capacity();
    // Long doubles are quick and take a tie for none now and then; exact numbers decide.
    auto worst = fabric.template worst<long double>(floor);
    if (!(worst.error < kErrorMax)) worst = fabric.template worst<ExactNumber>(floor);
    std::ostringstream finding;
    if (!(worst.error < kErrorMax)) {
      finding << "flow " << worst.flow.index() << " has rate " << fabric.solver().rate(worst.flow) << " instead of "
              << worst.expected;
    } else if (!fabric.solver().audit().passed()) {
      finding << "the audit does not pass";
    } else if (!fabric.list_is_right()) {
      finding << "update() does not name what changed";
    } else {
      continue;
    }
    finding << ", batch " << steps.batches;
    throw std::logic_error(finding.str());
  }
  steps.repairs = fabric.solver().counters().repairs;
  steps.full_solves = fabric.solver().counters().full_solves;
  steps.classes = fabric.solver().layer_count();
  return steps;
}

}  // namespace weft
