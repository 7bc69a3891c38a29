// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/sharp.hpp"

#include <array>
#include <utility>

#include "core/text/param_rows.hpp"
#include "host/collectives/hierarchical.hpp"
#include "host/collectives/nvls.hpp"

namespace weft {

namespace {

struct SharpSettings {
  Exchange inside;
  std::uint32_t pieces;
};

constexpr std::array sharp_params = {
    param<&SharpSettings::inside>(
        {.name = "inside",
         .default_text = "nvls",
         .choices = "direct|ring|nvls",
         .meaning = "Exchanges among the GPUs of a host: by its NVSwitches (nvls), or by the GPUs themselves",
         .origin = "NCCL combines its NVLS with SHARP on servers that have both"}),
    param<&SharpSettings::pieces>({.name = "pieces",
                                   .default_text = "4",
                                   .minimum = "1",
                                   .maximum = "1024",
                                   .meaning = "Pieces of the buffer that go through hosts and rails like through a pipeline; one "
                                              "where there is one host or one rank per "
                                              "host",
                                   .origin = "as hierarchical.pieces"}),
};

class Sharp final : public CollectiveAlgorithm {
 public:
  Sharp(Exchange inside, std::uint32_t pieces)
      : inside_(inside), levels_(make_hierarchical(inside, Exchange::in_network, pieces)) {}

  bool supports(CollectiveType type) const override {
    return type == CollectiveType::all_reduce || type == CollectiveType::all_gather || type == CollectiveType::reduce_scatter ||
           type == CollectiveType::barrier;
  }
  std::string objection(const CollectiveRequest& request) const override { return levels_->objection(request); }
  CollectivePlan compile(const CollectiveRequest& request) const override {
    if (request.layout->host_count() == 1 && inside_ == Exchange::in_network) return nvls_plan(request);
    return levels_->compile(request);
  }

 private:
  Exchange inside_;
  std::unique_ptr<CollectiveAlgorithm> levels_;
};

std::unique_ptr<CollectiveAlgorithm> make_sharp(const ParamSet& params) {
  const auto settings = filled<SharpSettings>(params);
  return std::make_unique<Sharp>(settings.inside, settings.pieces);
}

}  // namespace

Module<CollectiveAlgorithmFactory> sharp_algorithm() {
  return {
      {"collective", "sharp",
       "Packet switches add up along the rails (GPUs of equal number in all hosts), in a tree with one core switch per rail, "
       "between "
       "a reduce_scatter and an all_gather by the hosts' NVSwitches, in pieces that overlap. A NIC carries its GPU's share of an "
       "all_reduce once each way. Choosing it says that the switches can (flow.reducing_switches). flow.routing, "
       "flow.queue_pairs and flow.queue_pair_rate_max are for other traffic.",
       sharp_params},
      &make_sharp};
}

}  // namespace weft
