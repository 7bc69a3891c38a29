// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/job.hpp"

#include <utility>

#include "core/check.hpp"

namespace weft {

void JobTable::publish(RunningJob job) {
  WEFT_CHECK(job.attempt == next() && size_ < UINT32_MAX, "attempts are published in order of their numbers");
  const Position position(size_);
  std::unique_ptr<RunningJob[]>& chunk = chunks_[position.chunk];
  if (chunk == nullptr) chunk = std::make_unique<RunningJob[]>(Position::first_chunk << position.chunk);
  chunk[position.place] = std::move(job);
  ++size_;
}

TransferFolding::FoldedPath AttemptFoldings::path(const Transfer& transfer) const {
  const JobFolding* const folding = attempts_.at(transfer.attempt).folding.get();
  return folding == nullptr ? FoldedPath{} : folding->whole().path(folding->place(), transfer);
}

Transfer AttemptFoldings::seen_by_destination(const Transfer& transfer) const {
  const JobFolding& folding = *attempts_.at(transfer.attempt).folding;
  return folding.whole().seen_by_destination(folding.place(), transfer);
}

}  // namespace weft
