#include "host/collectives/nccl_tuner.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>

#include "core/check.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kHopperFit =
    "fitted to every second size of all_reduce, all_gather, reduce_scatter and alltoall on 2 to 8 H100 SXM, NCCL 2.29.2 "
    "(aiconfigurator)";

enum Protocol : std::uint32_t { ll, ll128, simple, protocols };
constexpr std::array<std::string_view, protocols> kProtocolNames = {"ll", "ll128", "simple"};

/// What the table says of one machine.
struct NcclConstants {
  std::string machine;  ///< or "auto"
  bool pat;
  bool nvls;
  bool collnet;
  bool pxn;
  Bytes pxn_bytes_max;
  Duration launch;
  std::array<Duration, protocols> base;
  std::array<Duration, protocols> hop;
  std::array<Bandwidth, 2> rate;  ///< of LL and LL128
  Duration fill_latency;
  Bytes fill_bytes;
  double reduce_efficiency;
  double copy_efficiency;
  Bandwidth own_copy_rate;
  Duration nvls_base;
  Duration nvls_fill;
  double nvls_efficiency;
  double nvls_rate_max;
  Duration p2p_ll_base;
  Duration p2p_base;
  Duration p2p_fill;
  Bytes p2p_fill_bytes;
  double p2p_efficiency;
  std::uint32_t p2p_peers;
  std::array<Duration, protocols> between_base;
  Duration between_copy_base;
  Duration nvls_tree_base;
  std::array<Duration, protocols> inside_hop;
  std::array<Duration, protocols> ring_hop;
  std::array<Duration, protocols> tree_hop;
  Duration nvls_tree_hop;
  double plateau;
  double network_efficiency;
  double copy_network_efficiency;
  double nvls_tree_efficiency;
  double tree_ll128_efficiency;
  double ll128_efficiency;
  std::uint32_t channels;
  std::uint32_t threads;
};

template <auto... Members>
constexpr ParamSpec time(std::string_view name, std::string_view value, std::string_view meaning, std::string_view origin) {
  return param<Members...>(
      {.name = name, .default_text = value, .minimum = "0ns", .maximum = "1s", .meaning = meaning, .origin = origin});
}
template <auto... Members>
constexpr ParamSpec rate(std::string_view name, std::string_view value, std::string_view meaning, std::string_view origin) {
  return param<Members...>(
      {.name = name, .default_text = value, .minimum = "1Mbps", .maximum = "1000Tbps", .meaning = meaning, .origin = origin});
}
template <auto... Members>
constexpr ParamSpec share(std::string_view name, std::string_view value, std::string_view meaning, std::string_view origin) {
  return param<Members...>(
      {.name = name, .default_text = value, .minimum = "0.01", .maximum = "1", .meaning = meaning, .origin = origin});
}

constexpr std::string_view kNcclTests309 =
    "fitted to every second all_reduce by tree/ll128 on 4 and 8 hosts of 8 H100 (nccl-tests, issue 309)";
constexpr std::string_view kAsInside = "assumption: launch and base inside a host";

constexpr std::array kNcclTunerParams = {
    param<&NcclConstants::machine>(
        {.name = "machine",
         .default_text = "auto",
         .choices = "auto|hgx_a100|hgx_h100|hgx_h200|hgx_b200|gb200_nvl72|gb300_nvl72|gh200|mi300x|mi355x_8",
         .meaning = "Machine whose constants stand for those that are not given; auto takes the one that the topology's `server` "
                    "names, else the "
                    "one "
                    "whose links are like the group's",
         .origin = "the topology knows its servers"}),
    param<&NcclConstants::pat>({.name = "pat",
                                .default_text = "on",
                                .choices = "on|off",
                                .meaning = "Whether the library has PAT",
                                .origin = "NCCL 2.23 and later",
                                .word = "on"}),
    param<&NcclConstants::nvls>({.name = "nvls",
                                 .default_text = "on",
                                 .choices = "on|off",
                                 .meaning = "Whether NVSwitches add up and multiply, where the machine's can",
                                 .origin = "NCCL_NVLS_ENABLE, which detects it",
                                 .word = "on"}),
    param<&NcclConstants::collnet>({.name = "collnet",
                                    .default_text = "off",
                                    .choices = "on|off",
                                    .meaning = "Whether packet switches add up and NCCL uses it",
                                    .origin = "NCCL_COLLNET_ENABLE is 0",
                                    .word = "on"}),
    param<&NcclConstants::pxn>(
        {.name = "pxn",
         .default_text = "on",
         .choices = "on|off",
         .meaning = "Whether all-to-alls in rail-optimized networks reach other rails by the sender's neighbours",
         .origin = "NCCL 2.12 and later",
         .word = "on"}),
    param<&NcclConstants::pxn_bytes_max>({.name = "pxn_bytes_max",
                                          .default_text = "64KiB",
                                          .minimum = "0B",
                                          .maximum = "1TiB",
                                          .meaning = "Largest message of a pair of ranks that PXN puts together with those of its "
                                                     "neighbours; larger ones take as long directly",
                                          .origin = "assumption: what hides behind some microseconds of latency"}),
    time<&NcclConstants::launch>(
        "launch", "0ns", "Once per collective inside a host and per all-to-all: what starting it by itself costs", kHopperFit),
    time<&NcclConstants::base, ll>("ll_base", "4.4us", "Once per collective inside a host by LL", kHopperFit),
    time<&NcclConstants::hop, ll>("ll_hop", "0ns", "Per step inside a host by LL, beyond the message's own latency", kHopperFit),
    rate<&NcclConstants::rate, ll>("ll_rate", "208Gbps", "Data that LL takes through a GPU, each pass", kHopperFit),
    time<&NcclConstants::base, ll128>("ll128_base", "5.1us", "Once per collective inside a host by LL128", kHopperFit),
    time<&NcclConstants::hop, ll128>("ll128_hop", "80ns", "Per step inside a host by LL128, beyond the message's own latency",
                                     kHopperFit),
    rate<&NcclConstants::rate, ll128>("ll128_rate", "1790Gbps", "Data that LL128 takes through a GPU, each pass", kHopperFit),
    time<&NcclConstants::base, simple>("simple_base", "16.5us", "Once per collective inside a host by Simple", kHopperFit),
    time<&NcclConstants::hop, simple>("simple_hop", "0ns", "Per step inside a host by Simple, beyond the message's own latency",
                                      kHopperFit),
    time<&NcclConstants::fill_latency>(
        "fill_latency", "11.6us", "What filling Simple's pipelines takes at fill_bytes; less for less, in proportion", kHopperFit),
    param<&NcclConstants::fill_bytes>({.name = "fill_bytes",
                                       .default_text = "32MiB",
                                       .minimum = "1B",
                                       .maximum = "1TiB",
                                       .meaning = "Buffer from which on the pipelines are full",
                                       .origin = kHopperFit}),
    share<&NcclConstants::reduce_efficiency>("reduce_efficiency", "0.818", "Share of NVLink's rate that an all_reduce's rings get",
                                             "fitted as above; NCCL counts 20.6 of 25 GB/s per link on Hopper: 0.824"),
    share<&NcclConstants::copy_efficiency>("copy_efficiency", "0.787", "Share of NVLink's rate that rings of other collectives get",
                                           kHopperFit),
    rate<&NcclConstants::own_copy_rate>("own_copy_rate", "8090Gbps",
                                        "Rate at which Simple moves a rank's own share from input to output", kHopperFit),
    time<&NcclConstants::nvls_base>("nvls_base", "31.4us", "Once per collective by NVLS", kHopperFit),
    time<&NcclConstants::nvls_fill>(
        "nvls_fill", "42.1us", "What filling the pipelines of NVLS takes at fill_bytes; less for less, in proportion", kHopperFit),
    share<&NcclConstants::nvls_efficiency>("nvls_efficiency", "0.664",
                                           "Share of NVLink's rate that NVLS gets; below 0.02 the machine has none",
                                           "fitted as above; NCCL has 0.824 x 0.85 x 15/16 = 0.657 on Hopper"),
    share<&NcclConstants::nvls_rate_max>("nvls_rate_max", "1",
                                         "Most of NVLink's rate at which NVLS takes a buffer, however many GPUs there are",
                                         "none; one host of Hopper stays below it"),
    time<&NcclConstants::p2p_ll_base>("p2p_ll_base", "6.9us",
                                      "Once per all-to-all of messages of 16 KiB at most (NCCL_P2P_LL_THRESHOLD)", kHopperFit),
    time<&NcclConstants::p2p_base>("p2p_base", "13.1us", "Once per all-to-all of larger messages", kHopperFit),
    time<&NcclConstants::p2p_fill>(
        "p2p_fill", "13.2us", "What filling the pipelines of an all-to-all takes at p2p_fill_bytes; less for less, in proportion",
        kHopperFit),
    param<&NcclConstants::p2p_fill_bytes>({.name = "p2p_fill_bytes",
                                           .default_text = "32MiB",
                                           .minimum = "1B",
                                           .maximum = "1TiB",
                                           .meaning = "Buffer from which on the pipelines of an all-to-all are full",
                                           .origin = kHopperFit}),
    share<&NcclConstants::p2p_efficiency>("p2p_efficiency", "0.733", "Share of NVLink's rate that sends and receives get",
                                          kHopperFit),
    param<&NcclConstants::p2p_peers>(
        {.name = "p2p_peers",
         .default_text = "1000000",
         .minimum = "1",
         .maximum = "1000000",
         .meaning = "Peers on other hosts with which an all-to-all gets half of the NICs' share: one thread per GPU serves all of "
                    "its connections",
         .origin = "none: HGX hosts keep theirs, N/(N-1) of the NIC's rate on N hosts (NVIDIA, nccl-tests issue 130)"}),
    time<&NcclConstants::between_base, ll>("between_ll_base", "4.4us", "Once per ring or tree between hosts by LL, with its start",
                                           kAsInside),
    time<&NcclConstants::between_base, ll128>("between_ll128_base", "5.1us", "The same by LL128", kAsInside),
    time<&NcclConstants::between_base, simple>("between_simple_base", "16.5us", "The same by Simple", kAsInside),
    time<&NcclConstants::between_copy_base>(
        "between_copy_base", "40us",
        "Once more by Simple per ring between hosts that reduces at most once: what filling its pipelines through NICs takes",
        "fitted to every second all_gather of 2 hosts of 8 B200 (GKE A4); 2 hosts of 8 H100 (A3 Mega) want 45 us"),
    time<&NcclConstants::nvls_tree_base>("nvls_tree_base", "31.4us", "Once per all_reduce by nvls_tree, with its start",
                                         "as nvls_base"),
    time<&NcclConstants::inside_hop, ll>(
        "inside_ll_hop", "0ns", "Per step inside a host of a collective between hosts by LL, beyond the message's own latency",
        "NCCL's tuner: 0.6 us on NVLink, what a message takes by itself"),
    time<&NcclConstants::inside_hop, ll128>("inside_ll128_hop", "1.05us", "The same by LL128",
                                            "NCCL's tuner: 1.9 us on NVLink, less 0.85 us of the message"),
    time<&NcclConstants::inside_hop, simple>("inside_simple_hop", "2.55us", "The same by Simple",
                                             "NCCL's tuner: 3.4 us on NVLink, less 0.85 us of the message"),
    time<&NcclConstants::ring_hop, ll>("ring_ll_hop", "400ns",
                                       "Per step between hosts of a ring by LL, beyond the message's own latency",
                                       "NCCL's tuner: 2.7 us, less 2.3 us of the message"),
    time<&NcclConstants::ring_hop, ll128>("ring_ll128_hop", "1.7us", "The same by LL128",
                                          "NCCL's tuner: 4.0 us, less 2.3 us of the message"),
    time<&NcclConstants::ring_hop, simple>("ring_simple_hop", "11.7us", "The same by Simple",
                                           "NCCL's tuner: 14 us, less 2.3 us of the message"),
    time<&NcclConstants::tree_hop, ll>("tree_ll_hop", "2.7us",
                                       "Per step between hosts of a tree by LL, beyond the message's own latency",
                                       "NCCL's tuner: 5.0 us, less 2.3 us of the message"),
    time<&NcclConstants::tree_hop, ll128>("tree_ll128_hop", "6.2us", "The same by LL128",
                                          "NCCL's tuner: 8.5 us, less 2.3 us of the message"),
    time<&NcclConstants::tree_hop, simple>("tree_simple_hop", "11.7us", "The same by Simple",
                                           "NCCL's tuner: 14 us, less 2.3 us of the message"),
    time<&NcclConstants::nvls_tree_hop>("nvls_tree_hop", "18.6us", "The same of nvls_tree",
                                        "NCCL's tuner: 20.9 us, less 2.3 us of the message"),
    param<&NcclConstants::plateau>({.name = "plateau",
                                    .default_text = "1.4",
                                    .minimum = "1",
                                    .maximum = "10",
                                    .meaning = "By how much an all_reduce's rings between hosts take longer per step by Simple",
                                    .origin = "NCCL's tuner: 1.4 from compute capability 8.0 on"}),
    share<&NcclConstants::network_efficiency>(
        "network_efficiency", "0.97", "Share of the NICs' rate that data by Simple gets, headers apart",
        "fitted to all-reduces of 40 MB to 2.3 GB on 2 and 4 nodes of Vista (estimate-train-time)"),
    share<&NcclConstants::copy_network_efficiency>("copy_network_efficiency", "0.97",
                                                   "The same of rings that reduce at most once, and of all-to-alls",
                                                   "as network_efficiency"),
    share<&NcclConstants::nvls_tree_efficiency>("nvls_tree_efficiency", "1",
                                                "Share of the rate of NVLS inside a host that nvls_tree gets there",
                                                "none; HGX hosts keep theirs"),
    share<&NcclConstants::tree_ll128_efficiency>(
        "tree_ll128_efficiency", "0.65", "Share of the rate that NCCL counts with for trees between hosts by LL128", kNcclTests309),
    share<&NcclConstants::ll128_efficiency>("ll128_efficiency", "0.92", "Share of the bytes moved by LL128 that is data",
                                            "NCCL's tuner: 120 of 128 bytes, and 0.92"),
    param<&NcclConstants::channels>({.name = "channels",
                                     .default_text = "16",
                                     .minimum = "1",
                                     .maximum = "64",
                                     .meaning = "Channels of large collectives",
                                     .origin = "NCCL on HGX H100: two per NIC"}),
    param<&NcclConstants::threads>({.name = "threads",
                                    .default_text = "512",
                                    .minimum = "32",
                                    .maximum = "1024",
                                    .meaning = "Threads of a channel",
                                    .origin = "NCCL_SIMPLE_MAX_NTHREADS and NCCL_LL_MAX_NTHREADS"}),
};

constexpr std::string_view kAmpereFit =
    "fitted to every second of all-reduces of 1 MB to 1 GB on 2 and 4 A100 SXM (nccl-tests, in vTrain's traces)";
constexpr std::array<NamedValue, 21> hgx_a100 = {{
    {"launch", "22us", kAmpereFit},
    {"ll_base", "6.6us", "NCCL's tuner"},
    {"ll_hop", "0ns", "NCCL's tuner: 0.6 us on NVLink, what a message takes by itself"},
    {"ll_rate", "200Gbps", "as on Hopper; NCCL's llMaxBws has 87.7 GB/s of Ampere against 141"},
    {"ll128_base", "6.1us", kAmpereFit},
    {"ll128_hop", "200ns", kAmpereFit},
    {"ll128_rate", "1200Gbps", "the share of Hopper's that the links have, rounded up: 150 GB/s"},
    {"simple_base", "13.7us", kAmpereFit},
    {"simple_hop", "3us", kAmpereFit},
    {"fill_latency", "73.4us", kAmpereFit},
    {"fill_bytes", "193MiB", kAmpereFit},
    {"reduce_efficiency", "0.798", "fitted as above; NCCL counts 20 of 25 GB/s per link on Ampere: 0.8"},
    {"copy_efficiency", "0.77", "less than an all_reduce by as much as on Hopper"},
    {"own_copy_rate", "4700Gbps", kAmpereFit},
    {"nvls_efficiency", "0.01", "its NVSwitches do not add up"},
    {"p2p_efficiency", "0.71", "as on Hopper, by its all_reduce"},
    {"between_ll_base", "28.6us", kAsInside},
    {"between_ll128_base", "28.1us", kAsInside},
    {"between_simple_base", "35.7us", kAsInside},
    {"channels", "24", "NCCL on DGX A100: 24 rings over 12 NVLinks"},
    {"network_efficiency", "0.97", "as measured on Vista"},
}};

constexpr std::array<NamedValue, 1> hgx_h200 = {{
    {"channels", "16", "the links and the compute capability of an H100, whose constants stand"},
}};

constexpr std::string_view kBlackwellFit =
    "fitted to every second size of all_reduce, all_gather, reduce_scatter and alltoall on 2 and 4 GB200, NCCL 2.29.2 "
    "(aiconfigurator)";
constexpr std::string_view kDomainFit =
    "fitted to one all_reduce of 16 GiB on 32 GB200 in one domain (909 GB/s of bus bandwidth, GCP A4X)";
constexpr std::string_view kPeersFit =
    "fitted to one all-to-all of 16 GiB on 2 domains of 72 GB200 (65 GB/s of bus bandwidth, GCP A4X)";
constexpr std::string_view kGb300BetweenFit =
    "fitted to every second all_gather of 64 KiB to 16 GiB on 2 trays of 4 GB300 (GCP A4X Max)";
constexpr std::string_view kBlackwellPairsFit =
    "fitted to every second alltoall on 2 and 4 GB200 (aiconfigurator) and to one of 16 GiB on 8 (GCP A4X)";
constexpr std::array<NamedValue, 29> gb200 = {{
    {"ll_base", "8.15us", kBlackwellFit},
    {"ll_hop", "360ns", kBlackwellFit},
    {"ll_rate", "158Gbps", kBlackwellFit},
    {"ll128_base", "8.7us", kBlackwellFit},
    {"ll128_hop", "480ns", kBlackwellFit},
    {"ll128_rate", "3030Gbps", kBlackwellFit},
    {"simple_base", "13.1us", kBlackwellFit},
    {"simple_hop", "4.3us", kBlackwellFit},
    {"fill_latency", "0ns", kBlackwellFit},
    {"reduce_efficiency", "0.784", "fitted as above; NCCL counts 40.1 of 50 GB/s per link on Blackwell: 0.802"},
    {"copy_efficiency", "0.781", kBlackwellFit},
    {"own_copy_rate", "9520Gbps", kBlackwellFit},
    {"nvls_base", "32.1us", kBlackwellFit},
    {"nvls_fill", "39.6us", kBlackwellFit},
    {"nvls_efficiency", "0.616", "fitted as above; NCCL has 0.802 x 0.74 x 31/32 = 0.575 on Blackwell"},
    {"nvls_rate_max", "0.524", kDomainFit},
    {"p2p_peers", "145", kPeersFit},
    {"p2p_ll_base", "10.6us", kBlackwellFit},
    {"p2p_base", "16us", kBlackwellFit},
    {"p2p_fill", "150us", kBlackwellPairsFit},
    {"p2p_fill_bytes", "512MiB", kBlackwellPairsFit},
    {"p2p_efficiency", "0.78", kBlackwellPairsFit},
    {"between_ll_base", "22us", kGb300BetweenFit},
    {"between_ll128_base", "43us", kGb300BetweenFit},
    {"between_simple_base", "13.1us", kAsInside},
    {"between_copy_base", "60us", kGb300BetweenFit},
    {"nvls_tree_base", "32.1us", "as nvls_base"},
    {"nvls_tree_efficiency", "0.914", "fitted to one all_reduce of 16 GiB on 2 domains of 32 GB200 (GCP A4X)"},
    {"channels", "32", "NCCL's largest number for an NVLink domain of Blackwell"},
}};

constexpr std::string_view kB200Fit =
    "fitted to every second size of all-reduces of 32 KB to 17 GB on 8 B200 (b200_allreduce_busbw)";
constexpr std::string_view kB200TreesFit = "fitted to every second all_reduce of 2 hosts of 8 B200 (Vultr)";
constexpr std::string_view kB200GathersFit = "fitted to every second all_gather of 2 hosts of 8 B200 (GKE A4, Vultr)";
constexpr std::array<NamedValue, 28> hgx_b200 = {{
    {"launch", "20us", kB200Fit},
    {"ll_base", "8.15us", "as GB200"},
    {"ll_hop", "360ns", "as GB200"},
    {"ll_rate", "158Gbps", "as GB200"},
    {"ll128_base", "8.7us", "as GB200"},
    {"ll128_hop", "480ns", "as GB200"},
    {"ll128_rate", "2270Gbps", kB200Fit},
    {"simple_base", "13.1us", "as GB200"},
    {"simple_hop", "4.3us", "as GB200"},
    {"fill_latency", "0ns", "as GB200"},
    {"reduce_efficiency", "0.784", "as GB200"},
    {"copy_efficiency", "0.781", "as GB200"},
    {"own_copy_rate", "9520Gbps", "as GB200"},
    {"nvls_base", "58us", kB200Fit},
    {"nvls_fill", "30us", kB200Fit},
    {"nvls_efficiency", "0.555", "fitted as above; NCCL has 0.802 x 0.74 x 15/16 = 0.556 on Blackwell"},
    {"p2p_ll_base", "10.6us", "as GB200"},
    {"p2p_base", "16us", "as GB200"},
    {"p2p_fill", "150us", "as GB200"},
    {"p2p_fill_bytes", "512MiB", "as GB200"},
    {"p2p_efficiency", "0.78", "as GB200"},
    {"between_ll_base", "12us", kB200TreesFit},
    {"between_ll128_base", "34us", kB200GathersFit},
    {"between_simple_base", "33.1us", kAsInside},
    {"nvls_tree_base", "48us", kB200TreesFit},
    {"network_efficiency", "0.995", kB200TreesFit},
    {"copy_network_efficiency", "0.86", kB200GathersFit},
    {"channels", "32", "as GB200"},
}};

constexpr std::string_view kVistaFit = "fitted to all-reduces of 40 MB to 268 MB on 2 and 4 nodes of Vista (estimate-train-time)";
constexpr std::array<NamedValue, 6> gh200 = {{
    {"launch", "60us", kVistaFit},
    {"between_ll_base", "64.4us", kVistaFit},
    {"between_ll128_base", "65.1us", kVistaFit},
    {"between_simple_base", "76.5us", kVistaFit},
    {"between_copy_base", "0ns", "assumption: nothing beyond an all_reduce's"},
    {"channels", "8", "NCCL on one NIC: its rings of one network step, doubled"},
}};

constexpr std::string_view kRccl =
    "assumption: RCCL's share of Infinity Fabric in AMD's published all-reduces of 8 MI300X, 310 GB/s of bus bandwidth";
constexpr std::array<NamedValue, 15> mi300x = {{
    {"launch", "8us", "assumption: empty all-reduces of rccl-tests take about 20 us"},
    {"ll_base", "8us", "assumption: as above"},
    {"ll128_base", "12us", "assumption: as above"},
    {"ll128_rate", "1000Gbps", "assumption: between LL and Simple"},
    {"simple_base", "20us", "assumption: as on Hopper"},
    {"simple_hop", "3us", "NCCL's tuner, 3.4 us"},
    {"between_ll_base", "16us", kAsInside},
    {"between_ll128_base", "20us", kAsInside},
    {"between_simple_base", "28us", kAsInside},
    {"reduce_efficiency", "0.7", kRccl},
    {"copy_efficiency", "0.7", kRccl},
    {"nvls_efficiency", "0.01", "there is no switch"},
    {"p2p_efficiency", "0.7", kRccl},
    {"own_copy_rate", "16Tbps", "assumption: from HBM to HBM"},
    {"channels", "28", "RCCL: four per cable of a GPU"},
}};
constexpr std::array<NamedValue, 15> mi355x_8 = [] {
  std::array<NamedValue, 15> values = mi300x;
  for (NamedValue& value : values) {
    if (value.name == "reduce_efficiency") {
      value = {value.name, "0.757",
               "an all_reduce of 8 GiB on 8 MI355X, 407 GB/s of bus bandwidth (Oracle's guide to its BM.GPU.MI355X)"};
    }
    if (value.name == "copy_efficiency") value = {value.name, "0.757", "as an all_reduce"};
  }
  return values;
}();

constexpr std::array<ModuleInfo, 9> kMachines = {{
    {"machine", "hgx_a100", "NCCL on DGX or HGX A100.", {}, hgx_a100},
    {"machine", "hgx_h100", "NCCL on DGX or HGX H100: the defaults of the table `nccl`.", {}, {}},
    {"machine", "hgx_h200", "NCCL on DGX or HGX H200.", {}, hgx_h200},
    {"machine", "hgx_b200", "NCCL on DGX or HGX B200.", {}, hgx_b200},
    {"machine", "gb200_nvl72", "NCCL in an NVLink domain of GB200.", {}, gb200},
    {"machine", "gb300_nvl72", "NCCL in an NVLink domain of GB300, whose NVLink is that of GB200.", {}, gb200},
    {"machine", "gh200", "NCCL on nodes with one GH200.", {}, gh200},
    {"machine", "mi300x", "RCCL on 8 MI300X.", {}, mi300x},
    {"machine", "mi355x_8", "RCCL on 8 MI355X, by what is known of MI300X.", {}, mi355x_8},
}};

/// Rate of PCIe inside a host as NCCL reckons with it where GPUs have no NVLink, GB/s.
constexpr double kPcieGBps = 20;

/// The constants of a machine; those that were given stand.
NcclConstants constants_of(ParamSet params, std::string_view machine) {
  const auto found =
      std::find_if(kMachines.begin(), kMachines.end(), [machine](const ModuleInfo& info) { return info.name == machine; });
  WEFT_CHECK(found != kMachines.end(), "every choice of the parameter machine is a machine");
  for (const NamedValue& value : found->values) {
    if (!params.is_given(value.name)) params.set(value.name, value.value, SourcePlace::named(std::string(machine)));
  }
  return filled<NcclConstants>(params);
}

double in_us(Duration time) { return time.in_ns() * 1e-3; }
double in_gbytes_per_s(Bandwidth rate) { return static_cast<double>(rate.in_bps()) / 8e9; }

class Reckoning {
 public:
  Reckoning(const CollectiveRequest& request, const NcclConstants& constants) : request_(request), constants_(constants) {
    const GroupLayout& layout = *request.layout;
    const HostHardware& hardware = layout.hardware();
    ranks_ = request.ranks();
    hosts_ = layout.host_count();
    per_host_ = static_cast<double>(ranks_) / hosts_;
    bytes_ = static_cast<double>(request.whole_buffer().count());
    passes_ = request.type == CollectiveType::all_reduce ? 2 : 1;
    nvlink_ = hardware.nvlink_bps > 0 && layout.inside() != InsideLinks::pcie ? static_cast<double>(hardware.nvlink_bps) / 8e9 : 0;
    nic_ = static_cast<double>(hardware.nic_bps) / 8e9;
    nics_ = std::max(1U, hardware.nics);
    // A channel has one NIC, and NCCL has but so many: NVLink domains of 72 GPUs do not drive all
    // their NICs at once.
    driven_nics_ = std::min(nics_, constants.channels);
    for (std::uint32_t host = 0; host < hosts_; ++host) fewest_ = std::min(fewest_, layout.members_of_host(host));
  }

  std::vector<NcclChoice> all() const {
    std::vector<NcclChoice> choices;
    switch (request_.type) {
      case CollectiveType::all_reduce:
      case CollectiveType::all_gather:
      case CollectiveType::reduce_scatter:
      case CollectiveType::broadcast:
      case CollectiveType::reduce:
        for (const Protocol protocol : {ll, ll128, simple}) add_ring(choices, protocol);
        for (const Protocol protocol : {ll, ll128, simple}) add_tree(choices, protocol);
        add_nvls(choices);
        add_nvls_tree(choices);
        add_pat(choices);
        add_collnet(choices);
        break;
      default:
        add_pairs(choices);
        break;
    }
    for (NcclChoice& choice : choices) {
      if (choice.weighed_us == 0) choice.weighed_us = choice.time_us;
    }
    std::stable_sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) { return a.weighed_us < b.weighed_us; });
    return choices;
  }

 private:
  bool is_switched() const { return request_.layout->inside() == InsideLinks::nvswitch; }
  bool is_mesh() const { return request_.layout->inside() == InsideLinks::full_mesh; }
  bool has_inside() const { return hosts_ < ranks_; }
  bool is_uniform() const { return request_.layout->ranks_per_host() > 0; }
  bool has_nvls() const { return constants_.nvls && constants_.nvls_efficiency > 0.02 && is_switched() && is_uniform(); }
  double inside_rate() const { return nvlink_ > 0 ? nvlink_ : kPcieGBps; }
  double log2_hosts() const { return static_cast<double>(std::bit_width(hosts_) - 1); }
  double part_filled(Duration fill, Bytes at) const {
    return in_us(fill) * std::min(1.0, bytes_ / static_cast<double>(at.count()));
  }
  /// What a ring or a tree takes before anything moves.
  double protocol_base(Protocol protocol) const {
    return hosts_ > 1 ? in_us(constants_.between_base[protocol]) : in_us(constants_.launch) + in_us(constants_.base[protocol]);
  }

  /// NCCL's number of channels for so much data.
  std::uint32_t channels_for(Protocol protocol) const {
    // Bytes of a thread below which it takes fewer channels: NCCL_LL_THREAD_THRESHOLD and so on;
    // that of LL counts ranks.
    const double threshold = protocol == ll ? 8.0 * ranks_ : protocol == ll128 ? 8 : 64;
    const double useful = bytes_ / (threshold * constants_.threads);
    return static_cast<std::uint32_t>(std::clamp(useful, 1.0, static_cast<double>(constants_.channels)));
  }

  /// Share of an inside link's rate that data gets, where each GPU sends `sent` bytes of its
  /// `bytes_` in a pass.
  double efficiency_inside(Protocol protocol, double of_simple) const {
    const double of_links = nvlink_ > 0 ? of_simple : 1;
    if (protocol == simple) return of_links;
    const double copied = in_gbytes_per_s(constants_.rate[protocol]) * (ranks_ - 1.0) / ranks_;
    const double flags = protocol == ll ? 0.5 : constants_.ll128_efficiency;
    return std::min(copied / inside_rate(), of_links * flags);
  }
  double efficiency_network(Protocol protocol, double of_simple) const {
    if (protocol == simple || nic_ == 0) return of_simple;
    const double copied = in_gbytes_per_s(constants_.rate[protocol]);
    const double flags = protocol == ll ? 0.5 : constants_.ll128_efficiency;
    // A GPU takes its copies through itself, whatever part of them then goes to a NIC.
    return std::min(copied * std::max(1.0, per_host_) / (nics_ * nic_), of_simple * flags);
  }

  static Duration duration_of(double us) { return Duration::from_seconds(std::max(0.0, us) * 1e-6); }
  NcclChoice choice(std::string_view algorithm, std::string_view module, Protocol protocol) const {
    NcclChoice choice;
    choice.algorithm = algorithm;
    choice.module = module;
    choice.protocol.name = kProtocolNames[protocol];
    choice.channels = channels_for(protocol);
    return choice;
  }

  void add_ring(std::vector<NcclChoice>& choices, Protocol protocol) const {
    // LL128 needs links that keep 128 bytes together.
    if (protocol == ll128 && has_inside() && nvlink_ == 0) return;
    const bool rooted = has_root(request_.type);
    NcclChoice ring = choice("ring", is_mesh() && hosts_ == 1 && !rooted ? "direct" : "ring", protocol);
    const double of_simple =
        request_.type == CollectiveType::all_reduce ? constants_.reduce_efficiency : constants_.copy_efficiency;
    ring.protocol.efficiency_inside = efficiency_inside(protocol, of_simple);
    const bool copies = request_.type != CollectiveType::all_reduce && !rooted;
    ring.protocol.efficiency_network =
        efficiency_network(protocol, copies ? constants_.copy_network_efficiency : constants_.network_efficiency);
    double inside_us = hosts_ == 1 ? in_us(constants_.hop[protocol]) : in_us(constants_.inside_hop[protocol]);
    double network_us = in_us((per_host_ > 1 ? constants_.ring_hop : constants_.tree_hop)[protocol]);
    if (protocol == simple && hosts_ > 1 && request_.type == CollectiveType::all_reduce) {
      // Of what the message takes by itself, too.
      inside_us = constants_.plateau * (inside_us + kMessageInsideUs) - kMessageInsideUs;
      network_us = constants_.plateau * (network_us + kMessageNetworkUs) - kMessageNetworkUs;
    }
    ring.protocol.hop_latency_inside = duration_of(inside_us);
    ring.protocol.hop_latency_network = duration_of(network_us);
    double base = protocol_base(protocol);
    if (protocol == simple) {
      base += part_filled(constants_.fill_latency, constants_.fill_bytes);
      if (copies && hosts_ > 1) base += in_us(constants_.between_copy_base);
      if (!rooted) base += bytes_ / ranks_ / (in_gbytes_per_s(constants_.own_copy_rate) * 1e3);
    }
    ring.protocol.base_latency = duration_of(base);
    // A pipeline from one end of the chain to the other, or rounds.
    const double steps = rooted ? ranks_ - 1.0 : ring.module == "direct" ? passes_ : passes_ * (ranks_ - 1.0);
    const double between = hosts_ == 1 ? 0 : (rooted ? hosts_ - 1.0 : passes_ * (hosts_ - 1.0));
    const double sent = rooted ? bytes_ : passes_ * (ranks_ - 1.0) / ranks_ * bytes_;
    double gbytes_per_s =
        has_inside() ? inside_rate() * ring.protocol.efficiency_inside : driven_nics_ * nic_ * ring.protocol.efficiency_network;
    if (hosts_ > 1) gbytes_per_s = std::min(gbytes_per_s, driven_nics_ * nic_ * ring.protocol.efficiency_network);
    ring.time_us = base + (steps - between) * (inside_us + kMessageInsideUs) + between * (network_us + kMessageNetworkUs) +
                   sent / (gbytes_per_s * 1e3);
    if (hosts_ > 1) ring.weighed_us = ring.time_us - base + kBaseOfTuner[protocol];
    // Inside a host all rings load its links alike, but for meshes, whose cables take rings of as
    // many orders.
    std::uint32_t simulated = hosts_ == 1 ? 1 : std::min(ring.channels, driven_nics_);
    if (is_mesh()) simulated = std::min(kRingsMax, std::max(simulated, hosts_ == 1 ? 2 * (ranks_ - 1) : fewest_));
    ring.alike = std::max(1U, ring.channels / simulated);
    if (ring.module == "ring") {
      ring.params.emplace_back("channels", std::to_string(simulated));
      ring.params.emplace_back("order", "hosts");
    }
    if (rooted) {
      const double piece = std::max(kPieceOfChain[protocol], bytes_ / simulated / kChainPieces[protocol]);
      ring.params.emplace_back("broadcast_piece", size_text(piece));
    }
    choices.push_back(std::move(ring));
  }

  void add_tree(std::vector<NcclChoice>& choices, Protocol protocol) const {
    if (request_.type != CollectiveType::all_reduce || hosts_ == 1) return;
    if (protocol == ll128 && has_inside() && nvlink_ == 0) return;
    NcclChoice tree = choice("tree", "double_binary_tree", protocol);
    tree.protocol.efficiency_inside = efficiency_inside(protocol, constants_.reduce_efficiency);
    tree.protocol.efficiency_network = efficiency_network(protocol, constants_.network_efficiency);
    const double inside_us = in_us(constants_.inside_hop[protocol]);
    const double network_us = in_us(constants_.tree_hop[protocol]);
    tree.protocol.hop_latency_inside = duration_of(inside_us);
    tree.protocol.hop_latency_network = duration_of(network_us);
    const double base = protocol_base(protocol);
    tree.protocol.base_latency = duration_of(base);
    const double hops_us = 2 * ((per_host_ - 1) * (inside_us + kMessageInsideUs) + log2_hosts() * (network_us + kMessageNetworkUs));
    const auto data_us = [&](double passes) {
      double gbytes_per_s = driven_nics_ * nic_ * tree.protocol.efficiency_network / passes;
      if (has_inside()) gbytes_per_s = std::min(gbytes_per_s, inside_rate() * tree.protocol.efficiency_inside / 2);
      return bytes_ / (gbytes_per_s * 0.92 * tree_correction(protocol) * 1e3);
    };
    // Between two hosts a tree sends the buffer once each way; NCCL's tuner halves its rate
    // whatever the number of hosts.
    const double reached = protocol == ll128 ? constants_.tree_ll128_efficiency : 1;
    tree.time_us = base + hops_us + data_us(hosts_ == 2 ? 1 : 2) / reached;
    tree.weighed_us = kBaseOfTuner[protocol] + hops_us + data_us(2);
    if (protocol != ll) {
      tree.protocol.efficiency_inside *= tree_correction(protocol) * reached;
      tree.protocol.efficiency_network *= tree_correction(protocol) * reached;
    }
    // A channel has both trees of a pair, and one NIC.
    const std::uint32_t pairs = std::min({tree.channels, driven_nics_, kRingsMax / 2});
    tree.alike = tree.channels / pairs;
    tree.params.emplace_back("channels", std::to_string(2 * pairs));
    tree.params.emplace_back("piece", size_text(std::max(tree_chunk(protocol) * tree.alike, bytes_ / (2 * pairs) / kTreePieces)));
    choices.push_back(std::move(tree));
  }

  void add_nvls(std::vector<NcclChoice>& choices) const {
    // Of gathered and scattered buffers NVLS takes only those that are registered for it.
    if (request_.type != CollectiveType::all_reduce || hosts_ > 1 || !has_nvls()) return;
    NcclChoice nvls = choice("nvls", "direct", simple);
    // Every head holds chunks of all channels; the fits are of 8 GPUs at most.
    const double heads = std::max(1.0, ranks_ / kFittedHeads);
    const double fill_us =
        in_us(constants_.nvls_fill) * std::min(heads, bytes_ / static_cast<double>(constants_.fill_bytes.count()));
    const double base = in_us(constants_.launch) + in_us(constants_.nvls_base) + fill_us;
    nvls.protocol.base_latency = duration_of(base - 2 * kMessageInsideUs);
    nvls.protocol.efficiency_inside = nvls_exchange_efficiency(ranks_);
    nvls.time_us = base + bytes_ / (nvls_rate(ranks_) * 1e3);
    choices.push_back(std::move(nvls));
  }

  /// GB/s of the buffer that NVLS takes within a host: 1 + 1/n of it cross a GPU's links.
  double nvls_rate(double members) const {
    return nvlink_ * std::min(constants_.nvls_efficiency * members / (members + 1), constants_.nvls_rate_max);
  }
  /// Of an exchange by messages, which put 2 (n-1)/n of the buffer on a link, for it to take as
  /// long.
  double nvls_exchange_efficiency(double members) const { return 2 * (members - 1) / members * nvls_rate(members) / nvlink_; }
  static double nvls_heads(double members) { return std::min(members, kNvlsHeadsMax); }

  /// Bytes of a buffer that nvls_tree has on its way between two hosts of its trees: a chunk per
  /// channel and head. NCCL takes smaller chunks of smaller buffers and from 4 hosts on
  /// (src/enqueue.cc, 2.22: NVLS_TREE).
  double nvls_tree_chunks() const {
    const double at_once = constants_.channels * nvls_heads(per_host_);
    double chunk = (hosts_ >= 4 ? 64 : 512) * 1024.0;
    const std::array<std::pair<double, double>, 4> smaller = {{{32, 256}, {16, 128}, {4, 64}, {1, 32}}};
    for (const auto& [times, kib] : smaller) {
      if (bytes_ < times * at_once * chunk) chunk = std::min(chunk, kib * 1024);
    }
    return at_once * chunk;
  }

  void add_nvls_tree(std::vector<NcclChoice>& choices) const {
    if (request_.type != CollectiveType::all_reduce || hosts_ == 1 || per_host_ < 2 || !has_nvls()) return;
    NcclChoice tree = choice("nvls_tree", "nvls_tree", simple);
    const double base = in_us(constants_.nvls_tree_base);
    const double network_us = in_us(constants_.nvls_tree_hop);
    const double inside = constants_.nvls_tree_efficiency;
    tree.protocol.hop_latency_network = duration_of(network_us);
    tree.protocol.efficiency_inside = nvls_exchange_efficiency(per_host_) * inside;
    tree.protocol.efficiency_network = efficiency_network(simple, constants_.network_efficiency) * driven_nics_ / nics_;
    const double network = nics_ * nic_ * tree.protocol.efficiency_network / (hosts_ == 2 ? 1 : 2);
    const double gbytes_per_s = std::min(network, nvls_rate(per_host_) * inside);
    const double data_us = bytes_ / (gbytes_per_s * 1e3);
    tree.weighed_us = kNvlsBaseOfTuner + 2 * log2_hosts() * kNvlsTreeHopOfTuner + data_us;
    // The trees fill once on the way up and once on the way down, with a quarter of the buffer at
    // most; NCCL's tuner does not count it.
    const double fill_us = 2 * std::min(bytes_ / 4, nvls_tree_chunks()) / (gbytes_per_s * 1e3);
    tree.time_us = base + 2 * log2_hosts() * (network_us + kMessageNetworkUs) + data_us + fill_us;
    tree.protocol.base_latency = duration_of(base + fill_us - 2 * kMessageInsideUs);
    // As many pieces as fill the trees, fewer for groups of very many messages: each piece has
    // about two inside for every two members of a host.
    const double messages = ranks_ * std::max(8.0, per_host_);
    tree.params.emplace_back("pieces", std::to_string(static_cast<int>(std::clamp(kNvlsTreeMessages / messages, 8.0, 64.0))));
    choices.push_back(std::move(tree));
  }

  void add_pat(std::vector<NcclChoice>& choices) const {
    const bool gathers = request_.type == CollectiveType::all_gather;
    if (!constants_.pat || has_inside() || (!gathers && request_.type != CollectiveType::reduce_scatter)) return;
    if (!gathers && !std::has_single_bit(ranks_)) return;
    NcclChoice pat = choice("pat", gathers ? "bruck" : "halving_doubling", simple);
    const double base = in_us(constants_.launch) + 8;
    const double hop = (in_us(constants_.tree_hop[simple]) + kMessageNetworkUs) / 3.5;
    const double linear = 2.8 * ranks_;
    pat.protocol.base_latency = duration_of(base + linear);
    pat.protocol.hop_latency_network = duration_of(hop - kMessageNetworkUs);
    pat.protocol.hop_latency_inside = pat.protocol.hop_latency_network;
    pat.protocol.efficiency_network = 0.75 * efficiency_network(simple, constants_.network_efficiency);
    pat.protocol.efficiency_inside = pat.protocol.efficiency_network;
    pat.time_us = base + linear + log2_hosts() * hop +
                  (ranks_ - 1.0) / ranks_ * bytes_ / (nics_ * nic_ * pat.protocol.efficiency_network * 1e3);
    choices.push_back(std::move(pat));
  }

  void add_collnet(std::vector<NcclChoice>& choices) const {
    if (!constants_.collnet || hosts_ == 1 || !is_uniform() || request_.type != CollectiveType::all_reduce) return;
    NcclChoice collnet = choice("collnet", "sharp", simple);
    const double base = in_us(constants_.launch) + in_us(constants_.nvls_base);
    const double network_us = 31 - kMessageNetworkUs;  // NCCL's tuner, CollNetDirect
    collnet.protocol.base_latency = duration_of(base);
    collnet.protocol.hop_latency_network = duration_of(network_us);
    collnet.protocol.efficiency_network = efficiency_network(simple, constants_.network_efficiency);
    collnet.protocol.efficiency_inside =
        has_nvls() ? constants_.nvls_efficiency : efficiency_inside(simple, constants_.reduce_efficiency);
    const double network = driven_nics_ * nic_ * collnet.protocol.efficiency_network;
    collnet.time_us = base + 31 + bytes_ / (std::min(network, inside_rate() * collnet.protocol.efficiency_inside / 2) * 1e3);
    choices.push_back(std::move(collnet));
  }

  void add_pairs(std::vector<NcclChoice>& choices) const {
    const bool all_pairs = request_.type == CollectiveType::all_to_all || request_.type == CollectiveType::all_to_all_v;
    // NCCL_P2P_LL_THRESHOLD: 16 KiB of a pair.
    const double of_pair = request_.type == CollectiveType::barrier ? 0 : bytes_ / ranks_;
    const Protocol protocol = of_pair <= 16 * 1024 ? ll : simple;
    NcclChoice pairs = choice("direct", "direct", protocol);
    double base = in_us(constants_.launch) + in_us(protocol == ll ? constants_.p2p_ll_base : constants_.p2p_base);
    if (protocol == simple)
      base +=
          part_filled(constants_.p2p_fill, constants_.p2p_fill_bytes) + of_pair / (in_gbytes_per_s(constants_.own_copy_rate) * 1e3);
    pairs.protocol.base_latency = duration_of(base - kMessageInsideUs);
    pairs.protocol.efficiency_inside = protocol == ll ? efficiency_inside(ll, constants_.p2p_efficiency)
                                       : nvlink_ > 0  ? constants_.p2p_efficiency
                                                      : 1;
    const double peers = ranks_ - per_host_;  // on other hosts
    const double served = 1 / (1 + peers / constants_.p2p_peers);
    pairs.protocol.efficiency_network =
        (protocol == ll ? 0.5 : 1) * served * efficiency_network(simple, constants_.copy_network_efficiency);
    const double network_us = in_us(constants_.ring_hop[protocol]);
    pairs.protocol.hop_latency_network = duration_of(network_us);
    const double outside = hosts_ == 1 ? 0 : bytes_ * (ranks_ - per_host_) / ranks_;
    double data_us = bytes_ * (per_host_ - 1) / ranks_ / (inside_rate() * pairs.protocol.efficiency_inside * 1e3);
    if (hosts_ > 1) {
      data_us = std::max(data_us, outside * per_host_ / (nics_ * nic_ * pairs.protocol.efficiency_network * 1e3));
    }
    pairs.time_us = base + (hosts_ > 1 ? network_us + kMessageNetworkUs : 0) + data_us;
    const bool by_pxn = request_.type == CollectiveType::all_to_all && constants_.pxn && hosts_ > 1 && is_uniform() &&
                        per_host_ > 1 && nvlink_ > 0 && request_.layout->hardware().rails_meet &&
                        of_pair <= static_cast<double>(constants_.pxn_bytes_max.count());
    if (all_pairs && by_pxn) {
      NcclChoice pxn = pairs;
      pxn.algorithm = "pxn";
      pxn.module = "hierarchical";
      // A message is copied once, be it into the buffer of a neighbour.
      pxn.protocol.efficiency_inside = constants_.p2p_efficiency * (protocol == ll ? 0.5 : 1);
      choices.push_back(std::move(pxn));
    }
    choices.push_back(std::move(pairs));
  }

  /// Trees at medium sizes stay behind the model: NCCL's factors by powers of two from 64 bytes on.
  double tree_correction(Protocol protocol) const {
    static constexpr std::array<std::array<double, 24>, protocols> kFactors = {
        {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
         {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
         {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};
    const auto units = static_cast<std::uint64_t>(bytes_ / 64);
    if (units == 0) return 1;
    const auto log = static_cast<std::size_t>(std::bit_width(units) - 1);
    return log < kFactors[protocol].size() ? kFactors[protocol][log] : 1;
  }

  /// What a channel's trees pass on at once: a slot, less for less data. NCCL's calcCollChunking
  /// (src/enqueue.cc).
  double tree_chunk(Protocol protocol) const {
    double chunk = kSlot[protocol];
    const double of_channel = bytes_ / channels_for(protocol);
    const auto halve = [&](double chunks_wanted, double least) {
      while (of_channel / chunk < chunks_wanted && chunk > least) chunk /= 2;
    };
    constexpr double kib = 1024;
    if (protocol == simple) {
      const double depth = per_host_ - 1 + log2_hosts();
      halve(8 * depth, 128 * kib);
      halve(4 * depth, 64 * kib);
      halve(depth, 32 * kib);
    } else if (protocol == ll128) {
      const double steps = 1 + log2_hosts() + 0.1 * per_host_;
      halve(64 * steps / per_host_, 128 * kib);
      halve(16 * steps / per_host_, 32 * kib);
    } else {
      // Flags come with the data, as along a chain.
      chunk = std::clamp(of_channel / 16, kPieceOfChain[ll], chunk);
    }
    return chunk;
  }

  static std::string size_text(double bytes) {
    return std::to_string(std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(bytes)))) + "B";
  }

  // Data of a slot of a channel (NCCL's src/include/device.h): 8 lines of 8 B for each of 512
  // threads; 15 of 16 words of 8 B, 120 for each of 640 threads; an eighth of 4 MiB.
  static constexpr std::array<double, protocols> kSlot = {32 * 1024, 576'000, 512 * 1024};
  // What goes on along a chain before its slot is full: what all threads take at once, a line or 8
  // words each, by LL and LL128, whose flags come with the data.
  static constexpr std::array<double, protocols> kPieceOfChain = {4 * 1024, 38'400, 512 * 1024};
  // Pieces are larger where these are more. LL has few, as each takes a slot here, where in fact
  // several share one.
  static constexpr std::array<double, protocols> kChainPieces = {32, 64, 64};
  // What NCCL's tuner counts for a collective to begin: it chooses between hosts by these, whatever
  // the machine's fits say.
  static constexpr std::array<double, protocols> kBaseOfTuner = {6.6, 14, 8.4};
  static constexpr double kNvlsBaseOfTuner = 25;
  // Between the releases' 14 and 20.9 us: with it all_reduces of 4 hosts of H100 change to
  // nvls_tree at 2 MiB and those of 8 at 8 MiB, where the times of nccl-tests' issue 309 have their
  // steps.
  static constexpr double kNvlsTreeHopOfTuner = 18;
  static constexpr double kTreePieces = 32;
  static constexpr double kNvlsTreeMessages = 524'288;
  static constexpr double kNvlsHeadsMax = 32;  ///< NCCL_MAX_NVLS_ARITY
  static constexpr double kFittedHeads = 8;
  static constexpr std::uint32_t kRingsMax = 32;
  // What a message of no bytes takes by itself with the defaults of the table `flow`, across one
  // packet switch.
  static constexpr double kMessageInsideUs = 0.85;
  static constexpr double kMessageNetworkUs = 2.3;

  const CollectiveRequest& request_;
  const NcclConstants& constants_;
  std::uint32_t ranks_ = 2;
  std::uint32_t hosts_ = 1;
  double per_host_ = 1;
  double bytes_ = 0;
  double passes_ = 1;
  double nvlink_ = 0;  ///< GB/s; 0: none
  double nic_ = 0;
  std::uint32_t nics_ = 1;
  std::uint32_t driven_nics_ = 1;
  std::uint32_t fewest_ = UINT32_MAX;  ///< members of any host
};

std::string time_text(double us) {
  char text[32];
  std::snprintf(text, sizeof text, us < 1e3 ? "%.3g us" : "%.3g ms", us < 1e3 ? us : us * 1e-3);
  return text;
}

}  // namespace

ParamTable nccl_params() { return kNcclTunerParams; }

std::span<const ModuleInfo> nccl_machines() { return kMachines; }

std::string NcclTuner::machine_of(const GroupLayout& layout) const {
  const std::string machine = filled<NcclConstants>(params_).machine;
  if (machine != kAuto) return machine;
  const HostHardware& hardware = layout.hardware();
  const auto known =
      std::find_if(kMachines.begin(), kMachines.end(), [&](const ModuleInfo& info) { return info.name == hardware.machine; });
  if (known != kMachines.end()) return hardware.machine;
  // By the links: Hopper and Blackwell have 900 and 1,800 GB/s of NVLink in both directions
  // together, Ampere 600.
  const double gbytes_per_s = static_cast<double>(hardware.nvlink_bps) / 8e9;
  if (layout.inside() == InsideLinks::full_mesh && gbytes_per_s > 400) return gbytes_per_s > 500 ? "mi355x_8" : "mi300x";
  if (gbytes_per_s == 0) return "hgx_h100";
  if (gbytes_per_s < 350) return "hgx_a100";
  if (gbytes_per_s < 700) return "hgx_h100";
  return hardware.gpus == 8 ? "hgx_b200" : "gb200_nvl72";
}

std::vector<NcclChoice> NcclTuner::choices(const CollectiveRequest& request, std::string_view algorithm,
                                           std::string_view protocol) const {
  const NcclConstants constants = constants_of(params_, machine_of(*request.layout));
  std::vector<NcclChoice> all = Reckoning(request, constants).all();
  std::erase_if(all, [&](const NcclChoice& choice) {
    const bool goes_by = choice.algorithm == algorithm || (choice.module == algorithm && choice.algorithm != "nvls");
    return (!algorithm.empty() && !goes_by) || (!protocol.empty() && choice.protocol.name != protocol);
  });
  return all;
}

std::string to_text(std::span<const NcclChoice> choices) {
  const auto name = [](const NcclChoice& choice) { return choice.algorithm + "/" + choice.protocol.name; };
  if (choices.empty()) return "";
  const NcclChoice& best = choices[0];
  std::string text = name(best) + ", " + std::to_string(best.channels) + (best.channels == 1 ? " channel" : " channels") + ": " +
                     time_text(best.time_us) + " predicted";
  if (std::abs(best.weighed_us - best.time_us) > 0.01 * best.time_us)
    text += ", " + time_text(best.weighed_us) + " by NCCL's tuner";
  return text + (choices.size() > 1 ? "; next " + name(choices[1]) + " " + time_text(choices[1].time_us) : "");
}

}  // namespace weft
