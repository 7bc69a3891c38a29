// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation/scenario/storage_entries.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/text/counted.hpp"
#include "core/text/param_rows.hpp"
#include "tools/simulation/scenario/host_list.hpp"

namespace weft {

namespace {

Bytes size_of(const std::string& field, const std::string& text, const SourcePlace& place) {
  const ParsedQuantity<Bytes> parsed = parse_bytes(text);
  if (!parsed.value) fail("bad-value", fmt::format("{}: {}", field, parsed.error.message), place, parsed.error.help);
  if (*parsed.value <= Bytes::zero()) fail("bad-value", fmt::format("{} is nothing", field), place, "drop it, or make it larger");
  return *parsed.value;
}

std::vector<HostId> hosts_of(const std::string& field, const std::string& text, std::optional<std::uint32_t> host_count,
                             const SourcePlace& place) {
  std::vector<HostId> hosts = parse_host_list(field, text, host_count, place);
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

template <class Message>
StorageEntry entry_of(const Message& message, const FieldPlaces& inside) {
  StorageEntry entry;
  if (message.has_data()) {
    const FieldPlaces of_data = inside.inside(message, "data");
    const scenario::JobData& data = message.data();
    if (data.size().empty())
      fail("missing-field", "data needs a size", inside.of(message, "data"), "for example data { size: \"4TiB\" }");
    entry.data = size_of("size", data.size(), of_data.of(data, "size"));
    // How many hosts there are is known when all of the scenario is read.
    if (!data.hosts().empty()) entry.data_hosts = hosts_of("hosts", data.hosts(), std::nullopt, of_data.of(data, "hosts"));
  }
  if (!message.checkpoint_size().empty())
    entry.checkpoint = size_of("checkpoint_size", message.checkpoint_size(), inside.of(message, "checkpoint_size"));
  return entry;
}

}  // namespace

StorageEntry read_storage_entry(const scenario::Job& job, const FieldPlaces& inside) { return entry_of(job, inside); }

StorageEntry read_storage_entry(const scenario::JobRule& rule, const FieldPlaces& inside) { return entry_of(rule, inside); }

void read_storage(Scenario& scenario) {
  const ClusterState cluster = empty_cluster(scenario);
  const std::uint32_t host_count = cluster.host_count();
  const ParamSet& params = scenario.parameters.of("storage");
  const SourcePlace place = SourcePlace::named("storage.hosts");
  StorageSettings& storage = scenario.storage;
  fill(storage, params);
  const std::string& text = params.text("hosts");
  if (!text.empty()) storage.hosts = hosts_of("storage.hosts", text, host_count, place);
  if (storage.hosts.size() + scenario.failures.spares() >= host_count) {
    fail("too-much-storage", "no host is left for jobs", place,
         fmt::format("there are {} in all, spares among them", counted(host_count, "host", "hosts")));
  }
  if (!storage.hosts.empty() && storage.hosts.back().index() >= host_count - scenario.failures.spares()) {
    fail("storage-is-spare", fmt::format("host{} stores data and is a spare", storage.hosts.back().index()), place,
         "the last hosts are spares; take others");
  }
}

void check_storage(const Scenario& scenario) {
  const StorageSettings& storage = scenario.storage;
  const std::uint32_t host_count = empty_cluster(scenario).host_count();
  Diagnostics diagnostics;
  for (const JobSpec& job : scenario.jobs) {
    const bool has_place = !storage.hosts.empty();
    const std::string of_job = fmt::format("of job {}", in_quotes(job.name));
    if (job.data > Bytes::zero() && job.data_hosts.empty() && !has_place) {
      diagnostics.error(
          "no-storage", fmt::format("the data {} lies nowhere", of_job), job.place,
          "name its hosts, data { size: \"4TiB\" hosts: \"60-63\" }, or those of all jobs, --set=storage.hosts=60-63");
    }
    if (job.checkpoint > Bytes::zero() && !has_place) {
      diagnostics.error("no-storage", fmt::format("there is nowhere to write checkpoints {}", of_job), job.place,
                        "name the hosts that store them, --set=storage.hosts=60-63");
    }
    if (!job.data_hosts.empty() && job.data_hosts.back().index() >= host_count) {
      diagnostics.error("bad-hosts", fmt::format("the data {} lies on host{}", of_job, job.data_hosts.back().index()), job.place,
                        fmt::format("the cluster has {}, counted from 0", counted(host_count, "host", "hosts")));
    }
  }
  diagnostics.throw_if_errors();
}

bool uses_storage(const Scenario& scenario) {
  return std::ranges::any_of(scenario.jobs,
                             [](const JobSpec& job) { return job.data > Bytes::zero() || job.checkpoint > Bytes::zero(); });
}

}  // namespace weft
