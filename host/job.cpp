#include "host/job.hpp"

#include <utility>

#include "core/check.hpp"

namespace weft {

void JobTable::publish(RunningJob job) {
  WEFT_CHECK(job.stay == next() && size_ < UINT32_MAX, "stays are published in order of their numbers");
  const Position position(size_);
  std::unique_ptr<RunningJob[]>& chunk = chunks_[position.chunk];
  if (chunk == nullptr) chunk = std::make_unique<RunningJob[]>(Position::kFirst << position.chunk);
  chunk[position.place] = std::move(job);
  ++size_;
}

}  // namespace weft
