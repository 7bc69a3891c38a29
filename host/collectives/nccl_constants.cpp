// SPDX-License-Identifier: Apache-2.0
#include "host/collectives/nccl_constants.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "core/text/diagnostics.hpp"
#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr std::string_view hopper_fit =
    "fitted to every second size of all_reduce, all_gather, reduce_scatter and alltoall on 2 to 8 H100 SXM, NCCL 2.29.2 "
    "(aiconfigurator)";

template <auto... Members>
constexpr ParamSpec time(std::string_view name, std::string_view value, std::string_view meaning, std::string_view origin) {
  return param<Members...>({.name = name,
                            .default_text = value,
                            .minimum = "0ns",
                            .maximum = "1s",
                            .meaning = meaning,
                            .origin = origin,
                            .fit = {"0ns", "500us"}});
}
template <auto... Members>
constexpr ParamSpec rate(std::string_view name, std::string_view value, std::string_view meaning, std::string_view origin) {
  return param<Members...>({.name = name,
                            .default_text = value,
                            .minimum = "1Mbps",
                            .maximum = "1000Tbps",
                            .meaning = meaning,
                            .origin = origin,
                            .fit = {"1Gbps", "100Tbps", true}});
}
template <auto... Members>
constexpr ParamSpec share(std::string_view name, std::string_view value, std::string_view meaning, std::string_view origin) {
  return param<Members...>({.name = name,
                            .default_text = value,
                            .minimum = "0.01",
                            .maximum = "1",
                            .meaning = meaning,
                            .origin = origin,
                            .fit = {"0.1", "1"}});
}

constexpr std::string_view nccl_tests_309 =
    "fitted to every second all_reduce by tree/ll128 on 4 and 8 hosts of 8 H100 (nccl-tests, issue 309)";
constexpr std::string_view as_inside = "assumption: launch and base inside a host";

constexpr std::array nccl_tuner_params = {
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
        "launch", "0ns", "Once per collective inside a host and per all-to-all: what starting it by itself costs", hopper_fit),
    time<&NcclConstants::base, ll>("ll_base", "4.4us", "Once per collective inside a host by LL", hopper_fit),
    time<&NcclConstants::hop, ll>("ll_hop", "0ns", "Per step inside a host by LL, beyond the message's own latency", hopper_fit),
    rate<&NcclConstants::rate, ll>("ll_rate", "208Gbps", "Data that LL takes through a GPU, each pass", hopper_fit),
    time<&NcclConstants::base, ll128>("ll128_base", "5.2us", "Once per collective inside a host by LL128", hopper_fit),
    time<&NcclConstants::hop, ll128>("ll128_hop", "110ns", "Per step inside a host by LL128, beyond the message's own latency",
                                     hopper_fit),
    rate<&NcclConstants::rate, ll128>("ll128_rate", "1570Gbps", "Data that LL128 takes through a GPU, each pass", hopper_fit),
    param<&NcclConstants::ll128_at_once>(
        {.name = "ll128_at_once",
         .default_text = "2KiB",
         .minimum = "0B",
         .maximum = "1GiB",
         .meaning =
             "Data of a channel's step inside a host that takes no longer than the step by itself, as all threads move it at "
             "once by LL128",
         .origin = hopper_fit,
         .fit = {"64B", "1MiB", true}}),
    param<&NcclConstants::ll128_share_max>({.name = "ll128_share_max",
                                            .default_text = "1TiB",
                                            .minimum = "1B",
                                            .maximum = "1TiB",
                                            .meaning = "Largest share of a rank that rings inside a host take by LL128: NCCL's "
                                                       "tuner leaves it by its own reckoning, which can be "
                                                       "before Simple is faster",
                                            .origin = "none: H100 changes where Simple is faster, but for 4 MiB on 4 ranks",
                                            .fit = {"16KiB", "1GiB", true}}),
    time<&NcclConstants::base, simple>("simple_base", "16.5us", "Once per collective inside a host by Simple", hopper_fit),
    time<&NcclConstants::hop, simple>("simple_hop", "0ns", "Per step inside a host by Simple, beyond the message's own latency",
                                      hopper_fit),
    time<&NcclConstants::simple_full_hop>(
        "simple_full_hop", "0ns", "The same where steps are full, with full_step_bytes; between, in proportion", hopper_fit),
    param<&NcclConstants::full_step_bytes>(
        {.name = "full_step_bytes",
         .default_text = "11MiB",
         .minimum = "1B",
         .maximum = "1TiB",
         .meaning = "Data of a rank's step by Simple from which on it hides as much of the step's latency as it can",
         .origin = "as fitted on GB200; on H100 the latency is the same",
         .fit = {"64KiB", "1GiB", true}}),
    time<&NcclConstants::fill_latency>(
        "fill_latency", "11.6us", "What filling Simple's pipelines takes at fill_bytes; less for less, in proportion", hopper_fit),
    param<&NcclConstants::fill_bytes>({.name = "fill_bytes",
                                       .default_text = "32MiB",
                                       .minimum = "1B",
                                       .maximum = "1TiB",
                                       .meaning = "Buffer from which on the pipelines are full",
                                       .origin = hopper_fit,
                                       .fit = {"1KiB", "1GiB", true}}),
    share<&NcclConstants::reduce_efficiency>("reduce_efficiency", "0.818", "Share of NVLink's rate that an all_reduce's rings get",
                                             "fitted as above; NCCL counts 20.6 of 25 GB/s per link on Hopper: 0.824"),
    share<&NcclConstants::copy_efficiency>("copy_efficiency", "0.787", "Share of NVLink's rate that rings of other collectives get",
                                           hopper_fit),
    rate<&NcclConstants::own_copy_rate>("own_copy_rate", "8090Gbps",
                                        "Rate at which Simple moves a rank's own share from input to output", hopper_fit),
    time<&NcclConstants::nvls_base>("nvls_base", "31.4us", "Once per collective by NVLS", hopper_fit),
    time<&NcclConstants::nvls_fill>(
        "nvls_fill", "42.1us", "What filling the pipelines of NVLS takes at fill_bytes; less for less, in proportion", hopper_fit),
    share<&NcclConstants::nvls_efficiency>("nvls_efficiency", "0.664",
                                           "Share of NVLink's rate that NVLS gets; below 0.02 the machine has none",
                                           "fitted as above; NCCL has 0.824 x 0.85 x 15/16 = 0.657 on Hopper"),
    share<&NcclConstants::nvls_rate_max>("nvls_rate_max", "1",
                                         "Most of NVLink's rate at which NVLS takes a buffer, however many GPUs there are",
                                         "none; one host of Hopper stays below it"),
    time<&NcclConstants::p2p_ll_base>("p2p_ll_base", "6.9us",
                                      "Once per all-to-all of messages of 16 KiB at most (NCCL_P2P_LL_THRESHOLD)", hopper_fit),
    time<&NcclConstants::p2p_base>("p2p_base", "12.6us", "Once per all-to-all of larger messages", hopper_fit),
    time<&NcclConstants::p2p_fill>(
        "p2p_fill", "13.1us", "What filling the pipelines of an all-to-all takes at p2p_fill_bytes; less for less, in proportion",
        hopper_fit),
    param<&NcclConstants::p2p_fill_bytes>({.name = "p2p_fill_bytes",
                                           .default_text = "29MiB",
                                           .minimum = "1B",
                                           .maximum = "1TiB",
                                           .meaning = "Buffer from which on the pipelines of an all-to-all are full",
                                           .origin = hopper_fit,
                                           .fit = {"1KiB", "4GiB", true}}),
    share<&NcclConstants::p2p_efficiency>("p2p_efficiency", "0.685", "Share of NVLink's rate that sends and receives get",
                                          hopper_fit),
    rate<&NcclConstants::p2p_own_copy_rate>(
        "p2p_own_copy_rate", "39Tbps",
        "Rate at which an all-to-all of larger messages moves a rank's own share, beside what it sends", hopper_fit),
    param<&NcclConstants::p2p_peers>(
        {.name = "p2p_peers",
         .default_text = "1000000",
         .minimum = "1",
         .maximum = "1000000",
         .meaning = "Peers on other hosts with which an all-to-all gets half of the NICs' share: one thread per GPU serves all of "
                    "its connections",
         .origin = "none: HGX hosts keep theirs, N/(N-1) of the NIC's rate on N hosts (NVIDIA, nccl-tests issue 130)"}),
    time<&NcclConstants::between_base, ll>("between_ll_base", "4.4us", "Once per ring or tree between hosts by LL, with its start",
                                           as_inside),
    time<&NcclConstants::between_base, ll128>("between_ll128_base", "5.1us", "The same by LL128", as_inside),
    time<&NcclConstants::between_base, simple>("between_simple_base", "16.5us", "The same by Simple", as_inside),
    rate<&NcclConstants::between_ll128_rate>("between_ll128_rate", "1790Gbps", "ll128_rate of collectives between hosts",
                                             "fitted to 2 to 8 H100 SXM in one host without ll128_at_once (aiconfigurator)"),
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
                                    .origin = "NCCL's tuner: 1.4 from compute capability 8.0 on",
                                    .fit = {"1", "3"}}),
    share<&NcclConstants::network_efficiency>(
        "network_efficiency", "0.97", "Share of the NICs' rate that data by Simple gets, headers apart",
        "fitted to all-reduces of 40 MB to 2.3 GB on 2 and 4 nodes of Vista (estimate-train-time)"),
    share<&NcclConstants::copy_network_efficiency>("copy_network_efficiency", "0.97",
                                                   "The same of rings that reduce at most once, and of all-to-alls",
                                                   "as network_efficiency"),
    share<&NcclConstants::nvls_tree_efficiency>("nvls_tree_efficiency", "1",
                                                "Share of the rate of NVLS inside a host that nvls_tree gets there",
                                                "none; HGX hosts keep theirs"),
    share<&NcclConstants::tree_ll128_efficiency>("tree_ll128_efficiency", "0.65",
                                                 "Share of the rate that NCCL counts with for trees between hosts by LL128",
                                                 nccl_tests_309),
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

constexpr std::string_view ampere_fit =
    "fitted to every second of all-reduces of 1 MB to 1 GB on 2 and 4 A100 SXM (nccl-tests, in vTrain's traces)";
constexpr std::array<NamedValue, 25> hgx_a100 = {{
    {"launch", "22us", ampere_fit},
    {"ll_base", "6.6us", "NCCL's tuner"},
    {"ll_hop", "0ns", "NCCL's tuner: 0.6 us on NVLink, what a message takes by itself"},
    {"ll_rate", "200Gbps", "as on Hopper; NCCL's llMaxBws has 87.7 GB/s of Ampere against 141"},
    {"ll128_base", "6.1us", ampere_fit},
    {"ll128_hop", "200ns", ampere_fit},
    {"ll128_rate", "1200Gbps", "the share of Hopper's that the links have, rounded up: 150 GB/s"},
    {"ll128_at_once", "0B", "as ll128_rate was taken"},
    {"simple_base", "13.7us", ampere_fit},
    {"simple_hop", "3us", ampere_fit},
    {"simple_full_hop", "3us", "as simple_hop"},
    {"fill_latency", "73.4us", ampere_fit},
    {"fill_bytes", "193MiB", ampere_fit},
    {"reduce_efficiency", "0.798", "fitted as above; NCCL counts 20 of 25 GB/s per link on Ampere: 0.8"},
    {"copy_efficiency", "0.77", "less than an all_reduce by as much as on Hopper"},
    {"own_copy_rate", "4700Gbps", ampere_fit},
    {"nvls_efficiency", "0.01", "its NVSwitches do not add up"},
    {"p2p_efficiency", "0.71", "as on Hopper, by its all_reduce"},
    {"p2p_own_copy_rate", "4700Gbps", "as own_copy_rate"},
    {"between_ll_base", "28.6us", as_inside},
    {"between_ll128_base", "28.1us", as_inside},
    {"between_ll128_rate", "1200Gbps", "as ll128_rate"},
    {"between_simple_base", "35.7us", as_inside},
    {"channels", "24", "NCCL on DGX A100: 24 rings over 12 NVLinks"},
    {"network_efficiency", "0.97", "as measured on Vista"},
}};

constexpr std::array<NamedValue, 1> hgx_h200 = {{
    {"channels", "16", "the links and the compute capability of an H100, whose constants stand"},
}};

constexpr std::string_view blackwell_fit =
    "fitted to every second size of all_reduce, all_gather, reduce_scatter and alltoall on 2 and 4 GB200, NCCL 2.29.2 "
    "(aiconfigurator)";
constexpr std::string_view domain_fit =
    "fitted to one all_reduce of 16 GiB on 32 GB200 in one domain (909 GB/s of bus bandwidth, GCP A4X)";
constexpr std::string_view peers_fit =
    "fitted to one all-to-all of 16 GiB on 2 domains of 72 GB200 (65 GB/s of bus bandwidth, GCP A4X)";
constexpr std::string_view gb300_between_fit =
    "fitted to every second all_gather of 64 KiB to 16 GiB on 2 trays of 4 GB300 (GCP A4X Max)";
constexpr std::string_view blackwell_pairs_fit =
    "fitted to every second alltoall on 2 and 4 GB200 (aiconfigurator) and to one of 16 GiB on 8 (GCP A4X)";
constexpr std::array<NamedValue, 34> gb200 = {{
    {"ll_base", "8.15us", blackwell_fit},
    {"ll_hop", "360ns", blackwell_fit},
    {"ll_rate", "158Gbps", blackwell_fit},
    {"ll128_base", "8.8us", blackwell_fit},
    {"ll128_hop", "540ns", blackwell_fit},
    {"ll128_rate", "2780Gbps", blackwell_fit},
    {"ll128_at_once", "2550B", blackwell_fit},
    {"ll128_share_max", "1448KiB",
     "2 and 4 GB200 take LL128 for 1 MiB of a rank and Simple for 2 MiB, twice as slow (aiconfigurator)"},
    {"simple_base", "11.6us", blackwell_fit},
    {"simple_hop", "9.5us", blackwell_fit},
    {"simple_full_hop", "3us", blackwell_fit},
    {"fill_latency", "0ns", blackwell_fit},
    {"reduce_efficiency", "0.795", "fitted as above; NCCL counts 40.1 of 50 GB/s per link on Blackwell: 0.802"},
    {"copy_efficiency", "0.777", blackwell_fit},
    {"own_copy_rate", "8700Gbps", blackwell_fit},
    {"nvls_base", "62us", "fitted as above, as the least with which four GPUs take rings, as they did; HGX B200 takes 58 us"},
    {"nvls_fill", "39.6us", blackwell_fit},
    {"nvls_efficiency", "0.616", "fitted as above; NCCL has 0.802 x 0.74 x 31/32 = 0.575 on Blackwell"},
    {"nvls_rate_max", "0.524", domain_fit},
    {"p2p_peers", "145", peers_fit},
    {"p2p_ll_base", "10.6us", blackwell_fit},
    {"p2p_base", "16us", blackwell_fit},
    {"p2p_fill", "150us", blackwell_pairs_fit},
    {"p2p_fill_bytes", "512MiB", blackwell_pairs_fit},
    {"p2p_efficiency", "0.78", blackwell_pairs_fit},
    {"p2p_own_copy_rate", "9520Gbps", blackwell_pairs_fit},
    {"between_ll_base", "22us", gb300_between_fit},
    {"between_ll128_base", "43us", gb300_between_fit},
    {"between_ll128_rate", "3030Gbps", "fitted to 2 and 4 GB200 in one domain without ll128_at_once (aiconfigurator)"},
    {"between_simple_base", "13.1us", as_inside},
    {"between_copy_base", "60us", gb300_between_fit},
    {"nvls_tree_base", "48us", "as HGX B200"},
    {"nvls_tree_efficiency", "0.914", "fitted to one all_reduce of 16 GiB on 2 domains of 32 GB200 (GCP A4X)"},
    {"channels", "32", "NCCL's largest number for an NVLink domain of Blackwell"},
}};

constexpr std::string_view b200_fit =
    "fitted to every second size of all-reduces of 32 KB to 17 GB on 8 B200 (b200_allreduce_busbw)";
constexpr std::string_view b200_trees_fit = "fitted to every second all_reduce of 2 hosts of 8 B200 (Vultr)";
constexpr std::string_view b200_gathers_fit = "fitted to every second all_gather of 2 hosts of 8 B200 (GKE A4, Vultr)";
constexpr std::string_view gb200_of_one_hop =
    "fitted to 2 and 4 GB200 (aiconfigurator) with one latency for short and full steps, and without ll128_at_once";
constexpr std::array<NamedValue, 32> hgx_b200 = {{
    {"launch", "20us", b200_fit},
    {"ll_base", "8.15us", "as GB200"},
    {"ll_hop", "360ns", "as GB200"},
    {"ll_rate", "158Gbps", "as GB200"},
    {"ll128_base", "8.7us", gb200_of_one_hop},
    {"ll128_hop", "480ns", gb200_of_one_hop},
    {"ll128_rate", "2130Gbps", b200_fit},
    {"ll128_at_once", "0B", "as ll128_rate was fitted"},
    {"simple_base", "13.1us", gb200_of_one_hop},
    {"simple_hop", "4.3us", gb200_of_one_hop},
    {"simple_full_hop", "4.3us", "as simple_hop"},
    {"fill_latency", "0ns", "as GB200"},
    {"reduce_efficiency", "0.784", gb200_of_one_hop},
    {"copy_efficiency", "0.781", gb200_of_one_hop},
    {"own_copy_rate", "9520Gbps", gb200_of_one_hop},
    {"nvls_base", "58us", b200_fit},
    {"nvls_fill", "30us", b200_fit},
    {"nvls_efficiency", "0.555", "fitted as above; NCCL has 0.802 x 0.74 x 15/16 = 0.556 on Blackwell"},
    {"p2p_ll_base", "10.6us", "as GB200"},
    {"p2p_base", "16us", "as GB200"},
    {"p2p_fill", "150us", "as GB200"},
    {"p2p_fill_bytes", "512MiB", "as GB200"},
    {"p2p_efficiency", "0.78", "as GB200"},
    {"p2p_own_copy_rate", "9520Gbps", "as GB200"},
    {"between_ll_base", "12us", b200_trees_fit},
    {"between_ll128_base", "34us", b200_gathers_fit},
    {"between_ll128_rate", "2270Gbps", "as ll128_rate, with all of two passes"},
    {"between_simple_base", "33.1us", as_inside},
    {"nvls_tree_base", "48us", b200_trees_fit},
    {"network_efficiency", "0.995", b200_trees_fit},
    {"copy_network_efficiency", "0.86", b200_gathers_fit},
    {"channels", "32", "as GB200"},
}};

constexpr std::string_view vista_fit = "fitted to all-reduces of 40 MB to 268 MB on 2 and 4 nodes of Vista (estimate-train-time)";
constexpr std::array<NamedValue, 6> gh200 = {{
    {"launch", "60us", vista_fit},
    {"between_ll_base", "64.4us", vista_fit},
    {"between_ll128_base", "65.1us", vista_fit},
    {"between_simple_base", "76.5us", vista_fit},
    {"between_copy_base", "0ns", "assumption: nothing beyond an all_reduce's"},
    {"channels", "8", "NCCL on one NIC: its rings of one network step, doubled"},
}};

constexpr std::string_view rccl_published =
    "assumption: RCCL's share of Infinity Fabric in AMD's published all-reduces of 8 MI300X, 310 GB/s of bus bandwidth";
constexpr std::array<NamedValue, 19> mi300x = {{
    {"launch", "8us", "assumption: empty all-reduces of rccl-tests take about 20 us"},
    {"ll_base", "8us", "assumption: as above"},
    {"ll128_base", "12us", "assumption: as above"},
    {"ll128_rate", "1000Gbps", "assumption: between LL and Simple"},
    {"ll128_at_once", "0B", "assumption: nothing is known"},
    {"simple_base", "20us", "assumption: as on Hopper"},
    {"simple_hop", "3us", "NCCL's tuner, 3.4 us"},
    {"simple_full_hop", "3us", "as simple_hop"},
    {"between_ll_base", "16us", as_inside},
    {"between_ll128_base", "20us", as_inside},
    {"between_ll128_rate", "1000Gbps", "as ll128_rate"},
    {"between_simple_base", "28us", as_inside},
    {"reduce_efficiency", "0.7", rccl_published},
    {"copy_efficiency", "0.7", rccl_published},
    {"nvls_efficiency", "0.01", "there is no switch"},
    {"p2p_efficiency", "0.7", rccl_published},
    {"own_copy_rate", "16Tbps", "assumption: from HBM to HBM"},
    {"p2p_own_copy_rate", "16Tbps", "assumption: from HBM to HBM"},
    {"channels", "28", "RCCL: four per cable of a GPU"},
}};
constexpr std::array<NamedValue, 19> mi355x_8 = [] {
  std::array<NamedValue, 19> values = mi300x;
  for (NamedValue& value : values) {
    if (value.name == "reduce_efficiency") {
      value = {value.name, "0.757",
               "an all_reduce of 8 GiB on 8 MI355X, 407 GB/s of bus bandwidth (Oracle's guide to its BM.GPU.MI355X)"};
    }
    if (value.name == "copy_efficiency") value = {value.name, "0.757", "as an all_reduce"};
  }
  return values;
}();

constexpr std::array<ModuleInfo, 9> known_machines = {{
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

}  // namespace

ParamTable nccl_params() { return nccl_tuner_params; }

std::span<const ModuleInfo> nccl_machines() { return known_machines; }

namespace {

std::span<const NamedValue> values_of_machine(std::string_view machine) {
  const auto found = std::ranges::find(known_machines, machine, &ModuleInfo::name);
  WEFT_CHECK(found != known_machines.end(), "every choice of the parameter machine is a machine");
  return found->values;
}

}  // namespace

NcclConstants nccl_constants_of(ParamSet params, std::string_view machine) {
  for (const NamedValue& value : values_of_machine(machine)) {
    if (!params.is_given(value.name)) params.set(value.name, value.value, SourcePlace::named(std::string(machine)));
  }
  return filled<NcclConstants>(params);
}

std::string nccl_constant_text(const ParamSet& params, std::string_view machine, std::string_view name) {
  const std::span<const NamedValue> values = values_of_machine(machine);
  const auto of_machine = std::ranges::find(values, name, &NamedValue::name);
  if (!params.is_given(name) && of_machine != values.end()) return std::string(of_machine->value);
  const auto row = std::ranges::find(params.table(), name, &ParamSpec::name);
  return params.value_text(static_cast<std::size_t>(row - params.table().begin()));
}

}  // namespace weft
