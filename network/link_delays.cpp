#include "network/link_delays.hpp"

#include "topologies/topology.hpp"

namespace weft {

std::vector<Duration> link_delays(const Topology& topology, Duration switching_delay) {
  std::vector<Duration> delays;
  delays.reserve(topology.link_count());
  for (std::uint32_t i = 0; i < topology.link_count(); ++i) {
    const Link& link = topology.link(LinkId(i));
    const bool switched = topology.node(link.destination).kind == NodeKind::packet_switch;
    delays.push_back(link.propagation_delay + (switched ? switching_delay : Duration::zero()));
  }
  return delays;
}

}  // namespace weft
