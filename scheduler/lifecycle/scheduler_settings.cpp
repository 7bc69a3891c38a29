// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lifecycle/scheduler_settings.hpp"

#include <array>

#include "core/text/param_rows.hpp"

namespace weft {

namespace {

constexpr std::array scheduler_rows = {
    param<&SchedulerSettings::control_delay>(
        {.name = "control_delay",
         .default_text = "10us",
         .minimum = "1ns",
         .meaning = "time that a message between scheduler and host takes: start of a job, end of an iteration",
         .origin = "round figure between kernel-bypass calls (2.3 us, eRPC, NSDI 2019) and daemons over kernel TCP (tens of us)"}),
    param<&SchedulerSettings::round>(
        {.name = "round",
         .default_text = "0s",
         .minimum = "0s",
         .maximum = "8760h",
         .meaning = "the policy has its say at multiples of this; 0s: whenever a job has arrived or GPUs have come free",
         .origin = "schedulers that preempt by rounds take minutes (6 min in Muri's runs and Gavel's)"}),
    param<&SchedulerSettings::start_overhead>(
        {.name = "start_overhead",
         .default_text = "0s",
         .minimum = "0s",
         .maximum = "8760h",
         .meaning = "what a job takes from its start until it gets on, each time that it starts: containers, libraries, its "
                    "last checkpoint",
         .origin = "none; in Muri's runs 65 s to 78 s by regression"}),
    param<&SchedulerSettings::fast_forward>(
        {.name = "fast_forward",
         .default_text = "0",
         .minimum = "0",
         .maximum = "1000000",
         .meaning = "iterations of every job that runs a workload to simulate side by side whenever a job starts, ends or stops; "
                    "after them jobs go on at the pace that these had, and nothing is simulated until the next such moment. 0: "
                    "every iteration is simulated",
         .origin = "Arcadia, section 6.3; 2 or more, as one says nothing of how much they differ"}),
    param<&SchedulerSettings::setbacks_max>(
        {.name = "setbacks_max",
         .default_text = "1000",
         .minimum = "0",
         .meaning = "stops of jobs and failures of parts, one after another and at least as many as there are hosts, without "
                    "anything kept of any job's work, after which the run ends and says so (status 1), if no job may get on; 0: "
                    "it goes on",
         .origin = "round figure: nobody waits for a job so long that never reached its next checkpoint in so many starts"}),
};

}  // namespace

ParamTable scheduler_params() { return scheduler_rows; }

}  // namespace weft
