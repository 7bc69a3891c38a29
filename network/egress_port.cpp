#include "network/egress_port.hpp"

#include "core/check.hpp"

namespace weft {

EgressPort::EgressPort(Bandwidth rate, Duration delay, EntityId target, std::uint32_t target_port)
    : delay_(delay), target_(target), target_port_(static_cast<std::uint16_t>(target_port)) {
  WEFT_CHECK(rate.in_bps() > 0 && target_port < parcel_ports_max, "a port has a rate, and its number fits a parcel");
  set_rate(rate.in_bps());
}

void EgressPort::set_rate(std::int64_t rate_bps) {
  is_out_ = rate_bps == 0;
  if (is_out_) return;
  rate_bps_ = static_cast<std::uint64_t>(rate_bps);
  ahead_ = 0;
  const std::uint64_t ticks = byte_work / rate_bps_;
  ticks_per_byte_ = byte_work % rate_bps_ == 0 && ticks <= UINT32_MAX ? static_cast<std::uint32_t>(ticks) : 0;
}

}  // namespace weft
