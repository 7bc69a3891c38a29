// SPDX-License-Identifier: Apache-2.0
// Published clusters: the aggregates of SenseTime's Helios clusters and of Shanghai AI Laboratory's
// Seren and Kalos.
//
// Where it sits: job_templates() makes a template of each.
// Sources: cluster_summary.csv and cluster_gpu_number.csv of the Helios data set (Hu et al.,
// "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters", SC
// 2021), cluster_summary.csv of AcmeTrace (Hu et al., "Characterization of Large Language Model
// Development in the Datacenter", NSDI 2024); GPU jobs only. The longest run time and the largest
// job are published for Helios as a whole.
// Thread safety: constants.
#pragma once

#include "workloads/job_templates/fitted_jobs.hpp"

namespace weft {

namespace published {

inline constexpr std::string_view helios = "cluster_summary.csv of the Helios data set; Hu et al., SC 2021";
inline constexpr std::string_view helios_days = "April to September 2020; Hu et al., SC 2021";
inline constexpr std::string_view helios_run_max = "the longest of all Helios jobs: 50 days; cluster_summary.csv of AcmeTrace";
inline constexpr std::string_view helios_gpus_max =
    "assumption: a quarter of the cluster, as the largest virtual cluster of Venus; 2,048 is the most in all of Helios";
inline constexpr std::string_view acme = "cluster_summary.csv of AcmeTrace; Hu et al., NSDI 2024";
inline constexpr std::string_view acme_days = "March to August 2023; Hu et al., NSDI 2024";
inline constexpr std::string_view no_virtual_clusters = "not published";

}  // namespace published

inline constexpr PublishedCluster helios_venus = {
    "125303",
    "183",
    "13040.598s",
    "204s",
    "4320009s",
    "6.736",
    "256",
    "0.526",
    "0.272",
    "0.202",
    "6373315670",
    "4920266598",
    "1052030340",
    "vcEwI:9,vcWoR:5,vcHvQ:8,vcvGl:20,vc8Gr:6,vcKeu:12,vcKrE:4,vcYVn:11,vchbv:4,vcLTP:8,vchA3:3,vcJsw:32,vcefl:10,vcvlY:2,vcgkz:1",
    published::helios,
    published::helios_days,
    published::helios_run_max,
    "the largest virtual cluster has 32 nodes of 8 GPUs",
    "cluster_gpu_number.csv of the Helios data set"};

inline constexpr PublishedCluster helios_earth = {"427148",
                                                  "183",
                                                  "5130.609s",
                                                  "234s",
                                                  "4320009s",
                                                  "2.101",
                                                  "256",
                                                  "0.735",
                                                  "0.136",
                                                  "0.129",
                                                  "5713038873",
                                                  "4793853520",
                                                  "932310362",
                                                  "",
                                                  published::helios,
                                                  published::helios_days,
                                                  published::helios_run_max,
                                                  published::helios_gpus_max,
                                                  published::no_virtual_clusters};

inline constexpr PublishedCluster helios_saturn = {"698896",
                                                   "183",
                                                   "5252.927s",
                                                   "124s",
                                                   "4320009s",
                                                   "4.01",
                                                   "512",
                                                   "0.582",
                                                   "0.272",
                                                   "0.145",
                                                   "14375709962",
                                                   "10733792235",
                                                   "2542859066",
                                                   "",
                                                   published::helios,
                                                   published::helios_days,
                                                   published::helios_run_max,
                                                   published::helios_gpus_max,
                                                   published::no_virtual_clusters};

inline constexpr PublishedCluster helios_uranus = {"329117",
                                                   "183",
                                                   "9163.725s",
                                                   "280s",
                                                   "4320009s",
                                                   "4.038",
                                                   "512",
                                                   "0.607",
                                                   "0.201",
                                                   "0.192",
                                                   "13532231815",
                                                   "10267196772",
                                                   "2761134934",
                                                   "",
                                                   published::helios,
                                                   published::helios_days,
                                                   published::helios_run_max,
                                                   published::helios_gpus_max,
                                                   published::no_virtual_clusters};

inline constexpr PublishedCluster helios_all = {"1580464",
                                                "183",
                                                "6651.681s",
                                                "206s",
                                                "4320009s",
                                                "3.716",
                                                "2048",
                                                "0.624",
                                                "0.221",
                                                "0.155",
                                                "39994296320",
                                                "30715109125",
                                                "7288334702",
                                                "",
                                                published::helios,
                                                published::helios_days,
                                                published::helios_run_max,
                                                "cluster_summary.csv of AcmeTrace, which has Helios for comparison",
                                                published::no_virtual_clusters};

inline constexpr PublishedCluster acme_seren = {"663813",
                                                "184",
                                                "1414.335s",
                                                "122s",
                                                "1209604s",
                                                "5.68",
                                                "1024",
                                                "0.497",
                                                "0.075",
                                                "0.429",
                                                "4560592618",
                                                "14274584510",
                                                "2675447459",
                                                "",
                                                published::acme,
                                                published::acme_days,
                                                published::acme,
                                                published::acme,
                                                published::no_virtual_clusters};

inline constexpr PublishedCluster acme_kalos = {"19907",
                                                "184",
                                                "1259.689s",
                                                "124s",
                                                "625740s",
                                                "26.77",
                                                "1024",
                                                "0.541",
                                                "0.062",
                                                "0.397",
                                                "1667685146",
                                                "3239202064",
                                                "426292851",
                                                "",
                                                published::acme,
                                                published::acme_days,
                                                published::acme,
                                                published::acme,
                                                published::no_virtual_clusters};

}  // namespace weft
