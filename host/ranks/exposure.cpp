// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/exposure.hpp"

namespace weft {

void Exposure::count_until(Time time) {
  if (communicating_ > 0 && gpu_computing_ == 0 && time > accounted_until_) {
    exposed_ += time - accounted_until_;
    for (const std::uint16_t communicator : communicators_) by_communicator_[communicator] += time - accounted_until_;
  }
  accounted_until_ = time;
}

void Exposure::take(const Noted& noted) {
  count_until(noted.at);
  switch (noted.change) {
    case Change::compute_begins:
      ++gpu_computing_;
      return;
    case Change::compute_ends:
      --gpu_computing_;
      return;
    case Change::communication_begins:
      ++communicating_;
      if (communicating_in_[noted.communicator]++ == 0) communicators_.push_back(noted.communicator);
      return;
    case Change::communication_ends:
      --communicating_;
      if (--communicating_in_[noted.communicator] == 0) std::erase(communicators_, noted.communicator);
      return;
  }
}

void Exposure::take_until(Time time) {
  for (; !ahead_.empty() && ahead_.front().at <= time; ahead_.pop()) take(ahead_.front());
}

void Exposure::note(Change change, std::uint16_t communicator, Time at, Time now) {
  take_until(now);
  const Noted noted{at, change, communicator};
  if (at <= now) return take(noted);
  ahead_.push(noted);
  for (std::uint32_t i = ahead_.size() - 1; i > 0 && ahead_[i].at < ahead_[i - 1].at; --i) std::swap(ahead_[i], ahead_[i - 1]);
}

void Exposure::account(Time now) {
  take_until(now);
  count_until(now);
}

std::vector<Duration> Exposure::by_communicator(Time until) const {
  Exposure then(communicating_in_.size());
  then.gpu_computing_ = gpu_computing_;
  then.communicating_ = communicating_;
  then.communicating_in_ = communicating_in_;
  then.communicators_ = communicators_;
  then.accounted_until_ = accounted_until_;
  then.by_communicator_ = by_communicator_;
  for (std::uint32_t i = 0; i < ahead_.size() && ahead_[i].at <= until; ++i) then.take(ahead_[i]);
  return then.by_communicator_;
}

}  // namespace weft
