#include "tools/simulation/scenario/host_list.hpp"

#include "core/text/counted.hpp"
#include "workloads/dag/rank_list.hpp"

namespace weft {

std::vector<HostId> parse_host_list(const std::string& field, const std::string& text, std::optional<std::uint32_t> host_count,
                                    const SourcePlace& place) {
  // Host numbers are written as ranks are.
  const ParsedRankList list = parse_rank_list(text, host_count.value_or(UINT32_MAX));
  if (!list.error.empty()) {
    const std::string count = host_count ? "it has " + counted(*host_count, "host", "hosts") : std::string("they are");
    fail("bad-hosts", field + ": " + in_quotes(text) + " does not name hosts of this cluster", place,
         count + (host_count ? ", counted from 0" : " counted from 0") + "; write them as in \"0-7,16,32-62:2\"");
  }
  std::vector<HostId> hosts;
  for (const RankId host : list.ranks) hosts.emplace_back(host.index());
  return hosts;
}

}  // namespace weft
