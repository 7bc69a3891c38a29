// SPDX-License-Identifier: Apache-2.0
#include "workloads/job_templates/job_templates.hpp"

#include <array>

#include "workloads/job_templates/published_clusters.hpp"

namespace weft {

namespace {

template <const PublishedCluster& cluster>
constexpr auto params_of = fitted_jobs_params(cluster);

}  // namespace

std::span<const Module<JobTemplateFactory>> job_templates() {
  static const std::array<Module<JobTemplateFactory>, 7> modules = {{
      {{"job-template", "helios_venus",
        "Jobs like those of Venus, 1,022 GPUs of SenseTime's Helios, in 2020. There they waited 1,253 s in the mean, half of them "
        "not at all.",
        params_of<helios_venus>},
       make_fitted_jobs},
      {{"job-template", "helios_earth",
        "Jobs like those of Earth, 997 GPUs of SenseTime's Helios, in 2020. There they waited 319 s in the mean, half of them not "
        "at all.",
        params_of<helios_earth>},
       make_fitted_jobs},
      {{"job-template", "helios_saturn",
        "Jobs like those of Saturn, 2,080 GPUs of SenseTime's Helios, in 2020. There they waited 612 s in the mean, half of them "
        "not at all.",
        params_of<helios_saturn>},
       make_fitted_jobs},
      {{"job-template", "helios_uranus",
        "Jobs like those of Uranus, 2,119 GPUs of SenseTime's Helios, in 2020. There they waited 1,949 s in the mean, half of them "
        "not at "
        "all.",
        params_of<helios_uranus>},
       make_fitted_jobs},
      {{"job-template", "helios_all",
        "Jobs like those of four Helios clusters together, 6,220 GPUs, in 2020. There they waited 862 s in the mean, half of them "
        "not at all.",
        params_of<helios_all>},
       make_fitted_jobs},
      {{"job-template", "acme_seren",
        "Jobs like those of Seren, a cluster of Shanghai AI Laboratory for language models, in 2023. There they waited 446 s in "
        "the mean, half of "
        "them 1 s or less.",
        params_of<acme_seren>},
       make_fitted_jobs},
      {{"job-template", "acme_kalos",
        "Jobs like those of Kalos, a cluster of Shanghai AI Laboratory for language models, in 2023. There they waited 214 s in "
        "the mean, half of "
        "them 17 s or less.",
        params_of<acme_kalos>},
       make_fitted_jobs},
  }};
  return modules;
}

}  // namespace weft
