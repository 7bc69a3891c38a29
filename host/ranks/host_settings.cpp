// SPDX-License-Identifier: Apache-2.0
#include "host/ranks/host_settings.hpp"

#include <array>

#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr std::array host_rows = {
    param<&HostSettings::reduction_time_per_mib>(
        {.name = "reduction_time_per_mib",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning =
             "Time a GPU needs to add up one MiB of received data after it has arrived; zero means hidden behind the transfer",
         .origin = "collective kernels reduce while they copy, so the sum is hidden unless measured otherwise",
         .fit = {"0ns", "100us"},
         .unused = {{"network = none", "job mode simulates no ranks"}}}),
    param<&HostSettings::fold_ranks>(
        {.name = "fold_ranks",
         .default_text = "auto",
         .choices = "auto|on|off",
         .meaning = "Whether ranks that behave alike at every instant are simulated once per class (flow mode); auto: where a "
                    "job has 512 ranks or more or there is a fold_tolerance, unless jobs start at more than 16 different times",
         .origin = "exact: equitable partitions, host/symmetry/rank_folding.hpp",
         .unused = {{"network = none", "job mode simulates no ranks"},
                    {"mode = packet and host.fold_ranks = on", "in packet mode every rank is simulated"}}}),
    param<&HostSettings::fold_tolerance>(
        {.name = "fold_tolerance",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning =
             "Folds ranks loosely: delays of messages that differ by no more than this count as equal and are taken at "
             "their mean, and links that the jobs cannot fill tell no ranks apart; links.csv then has their mean. 0ns: exactly",
         .origin = "none; a few us where tiers of a fabric differ by as much and transfers take milliseconds",
         .unused = {{"network = none", "job mode simulates no ranks"},
                    {"mode = packet", "in packet mode every rank is simulated"},
                    {"mode = flow and host.fold_ranks = off", "host.fold_ranks is off"},
                    {"mode = flow and flow.allocation != max_min", "ranks are folded only where rates are max-min fair"}}}),
    param<&HostSettings::private_links>(
        {.name = "private_links",
         .default_text = "auto",
         .choices = "auto|on|off",
         .meaning =
             "Whether transfers that share no link with others are simulated by themselves: what GPUs of a "
             "host send over NVLinks that nobody else can use, a collective once for all hosts, layers and iterations in "
             "which it goes alike; and in flow mode rings between hosts, as long as nobody else is on their links. Results are the "
             "same. auto: where a job has 512 ranks or more",
         .origin = "exact: host/inside/island.hpp, host/across/across_traffic.hpp",
         .unused = {{"network = none", "job mode simulates no transfers"},
                    {"flow.allocation != max_min", "hosts have links of their own only where rates are max-min fair"},
                    {"flow.routing = adaptive", "adaptive paths depend on the order within an instant"},
                    {"flow.routing = adaptive_global", "adaptive paths depend on the order within an instant"}}}),
    param<&HostSettings::kernel_launch_latency>(
        {.name = "kernel_launch_latency",
         .default_text = "0ns",
         .minimum = "0ns",
         .maximum = "1s",
         .meaning = "Before every GPU compute op: what launching it costs where launches are not hidden behind the kernels before",
         .origin = "traces and models give times of kernels that are queued ahead",
         .fit = {"0ns", "200us"},
         .unused = {{"network = none", "job mode simulates no ranks"}}}),
    param<&HostSettings::compute_slowdown>(
        {.name = "compute_slowdown",
         .default_text = "1",
         .minimum = "1",
         .maximum = "100",
         .meaning = "How many times slower GPU compute ops of a rank run while communication of the rank is under way",
         .origin = "none; kernels of collectives take streaming multiprocessors and memory bandwidth",
         .fit = {"1", "3"},
         .unused = {{"network = none", "job mode simulates no ranks"}}}),
    param<&HostSettings::straggler_share>({.name = "straggler_share",
                                           .default_text = "0",
                                           .minimum = "0",
                                           .maximum = "1",
                                           .meaning = "Probability of a host to be a straggler, drawn for each by the run's seed",
                                           .origin = "none"}),
    param<&HostSettings::straggler_speed>(
        {.name = "straggler_speed",
         .default_text = "0.8",
         .minimum = "0.001",
         .maximum = "1",
         .meaning = "Speed of a straggler's compute ops",
         .origin = "assumption; FALCON (2024) reports computation slowed down by 10 to 30 % on stragglers"}),
    param<&HostSettings::speed_spread>(
        {.name = "speed_spread",
         .default_text = "0",
         .minimum = "0",
         .maximum = "3",
         .meaning =
             "Coefficient of variation of the hosts' compute speeds, drawn log-normally with mean 1 for each by the run's seed",
         .origin = "none: hosts of one cluster are alike; volunteers' are not"}),
};

}  // namespace

ParamTable host_params() { return host_rows; }

}  // namespace weft
