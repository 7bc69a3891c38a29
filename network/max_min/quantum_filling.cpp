// SPDX-License-Identifier: Apache-2.0
#include "network/max_min/quantum_filling.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "core/check.hpp"
#include "core/containers/release_memory.hpp"

namespace weft {

QuantumFilling::QuantumFilling(std::vector<double> capacities, double quantum) : graph_(std::move(capacities)), quantum_(quantum) {
  WEFT_CHECK(quantum > 0, "a quantum is > 0");
}

FlowSlot QuantumFilling::add_flow(const FlowDemand& demand) {
  const FlowSlot flow = graph_.add(demand);
  if (rates_.size() < graph_.slot_count()) rates_.resize(graph_.slot_count());
  rates_[flow.index()] = std::numeric_limits<double>::quiet_NaN();
  return flow;
}

void QuantumFilling::remove_flow(FlowSlot flow) { graph_.remove(flow); }

void QuantumFilling::give_back() {
  graph_.give_back();
  release_memory(rates_);
  release_memory(filled_);
  release_memory(filling_);
  release_memory(changed_);
}

void QuantumFilling::set_capacity(LinkId link, double capacity) { graph_.set_capacity(link, capacity); }

/// Lets the flows of one class gain what those above leave. Requires: all flows are in changed_.
void QuantumFilling::fill_class(std::size_t priority) {
  filling_.clear();
  std::copy_if(changed_.begin(), changed_.end(), std::back_inserter(filling_),
               [&](FlowSlot flow) { return graph_.priority(flow) == priority; });
  while (!filling_.empty()) {
    std::erase_if(filling_, [this](FlowSlot flow) {
      const double gain = graph_.weight(flow) * quantum_;
      if (filled_[flow.index()] + gain > graph_.cap(flow)) return true;
      const std::span<const FlowLinkGraph::Hop> hops = graph_.hops(flow);
      const std::span<const double> loads = graph_.loads(flow);
      const auto add = [&](double amount) {
        for (std::size_t i = 0; i < hops.size(); ++i) load_[hops[i].link.index()] += amount * (loads.empty() ? 1.0 : loads[i]);
      };
      add(gain);
      const bool fits = std::all_of(hops.begin(), hops.end(), [this](const FlowLinkGraph::Hop& hop) {
        return load_[hop.link.index()] <= graph_.capacity(hop.link) * (1 + 1e-12);
      });
      if (!fits) {
        add(-gain);
        return true;
      }
      filled_[flow.index()] += gain;
      return false;
    });
  }
}

std::span<const FlowSlot> QuantumFilling::update() {
  load_.assign(graph_.link_count(), 0.0);
  filled_.assign(graph_.slot_count(), 0.0);
  changed_.clear();
  for (std::uint32_t i = 0; i < graph_.slot_count(); ++i) {
    if (graph_.alive(FlowSlot(i))) changed_.push_back(FlowSlot(i));
  }
  for (std::size_t priority = priority_classes; priority-- > 0;) fill_class(priority);
  std::erase_if(changed_, [this](FlowSlot flow) { return rates_[flow.index()] == filled_[flow.index()]; });
  for (const FlowSlot flow : changed_) rates_[flow.index()] = filled_[flow.index()];
  return changed_;
}

}  // namespace weft
