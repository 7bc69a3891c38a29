// SPDX-License-Identifier: Apache-2.0
// Prints how flows that start one after the other share a link, as a table: shared_link
// [ALGORITHM[,...]] [GBPS[,...]] [FLOWS[,...]] [apart=MICROSECONDS] [module.param=value]...
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "shared_link.hpp"

namespace {

std::vector<std::string> items(const std::string& list) {
  std::vector<std::string> all;
  std::istringstream text(list);
  for (std::string item; std::getline(text, item, ',');) all.push_back(item);
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> lists = {"dcqcn,dctcp,swift,hpcc,none", "100,400,800", "2,4,16"};
  std::vector<std::pair<std::string, std::string>> settings;
  weft::Duration apart = weft::Duration::us(100);
  std::size_t next = 0;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (argument.starts_with("apart=")) {
      apart = weft::Duration::us(std::atoi(argument.c_str() + equals + 1));
    } else if (equals != std::string::npos) {
      settings.emplace_back(argument.substr(0, equals), argument.substr(equals + 1));
    } else if (next < lists.size()) {
      lists[next++] = argument;
    }
  }
  std::printf(
      "| congestion control | link | flows | utilisation by ms | Jain index by ms | queue peak KB | marks | CNPs | pauses | drops "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& algorithm : items(lists[0])) {
    for (const std::string& gbps : items(lists[1])) {
      for (const std::string& flows : items(lists[2])) {
        weft::SharedLink link{algorithm, weft::Bandwidth::gbps(std::atoi(gbps.c_str())),
                              static_cast<std::uint32_t>(std::atoi(flows.c_str()))};
        link.apart = apart;
        link.length = weft::Duration::us(8'200);
        link.settings = settings;
        const weft::SharedLinkShares shares = weft::share_link(link);
        std::printf("| %s | %s | %s |", algorithm.c_str(), gbps.c_str(), flows.c_str());
        for (const auto& bin : shares.bins) std::printf(" %.3f", bin.utilization);
        std::printf(" |");
        for (const auto& bin : shares.bins) std::printf(" %.3f", bin.jain);
        std::printf(" | %llu | %llu | %llu | %llu | %llu |\n", static_cast<unsigned long long>(shares.queue_peak / 1000),
                    static_cast<unsigned long long>(shares.counters.ecn_marks),
                    static_cast<unsigned long long>(shares.counters.notifications),
                    static_cast<unsigned long long>(shares.counters.pauses),
                    static_cast<unsigned long long>(shares.counters.drops));
        std::fflush(stdout);
      }
    }
  }
}
