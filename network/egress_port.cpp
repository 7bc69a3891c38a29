#include "network/egress_port.hpp"

#include "core/check.hpp"

namespace weft {

EgressPort::EgressPort(Bandwidth rate, Duration delay, EntityId target, std::uint32_t target_port)
    : delay_(delay),
      rate_bps_(static_cast<std::uint64_t>(rate.in_bps())),
      target_(target),
      target_port_(static_cast<std::uint16_t>(target_port)) {
  WEFT_CHECK(rate_bps_ > 0 && target_port < parcel_ports_max, "a port has a rate, and its number fits a parcel");
  const std::uint64_t ticks = byte_work / rate_bps_;
  if (byte_work % rate_bps_ == 0 && ticks <= UINT32_MAX) ticks_per_byte_ = static_cast<std::uint32_t>(ticks);
}

}  // namespace weft
