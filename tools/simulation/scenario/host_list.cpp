// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/host_list.hpp"

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/diagnostics.hpp"
#include "workloads/dag/rank_list.hpp"

namespace weft {

namespace {

/// Without "host" before numbers, as results name hosts: "host0-7,host9" is "0-7,9".
std::string without_word(const std::string& text) {
  constexpr std::string_view word = "host";
  std::string numbers;
  for (std::size_t i = 0; i < text.size();) {
    const bool is_name = text.compare(i, word.size(), word) == 0 && i + word.size() < text.size() && text[i + word.size()] >= '0' &&
                         text[i + word.size()] <= '9';
    if (is_name) i += word.size();
    numbers += text[i++];
  }
  return numbers;
}

}  // namespace

std::vector<HostId> parse_host_list(const std::string& field, const std::string& text, std::optional<std::uint32_t> host_count,
                                    const SourcePlace& place) {
  // Host numbers are written as ranks are.
  const ParsedRankList list = parse_rank_list(without_word(text), host_count.value_or(UINT32_MAX));
  if (!list.error.empty()) {
    const std::string count =
        host_count ? fmt::format("it has {}", counted(*host_count, "host", "hosts")) : std::string("they are");
    fail("bad-hosts", fmt::format("{}: {} does not name hosts of this cluster", field, in_quotes(text)), place,
         fmt::format("{}{}; write them as in \"0-7,16,32-62:2\"", count, host_count ? ", counted from 0" : " counted from 0"));
  }
  std::vector<HostId> hosts;
  for (const RankId host : list.ranks) hosts.emplace_back(host.index());
  return hosts;
}

}  // namespace weft
