#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statistics, and how often a call is run, with a stopwatch that gives the times of the test."""

import unittest

import sampler_testing  # noqa: F401  (puts the package on the path)
from kernel_sampler.spread import median, relative_spread
from kernel_sampler.timing import CALLS_MAX, TimingSettings, measure


class FixedTimes:
    """Every call takes as long as the next of a list says; its last goes on."""

    def __init__(self, *seconds):
        self.seconds = list(seconds)
        self.asked = []

    def seconds_per_call(self, call, calls, is_cold):
        for _ in range(calls):
            call()
        self.asked.append((calls, is_cold))
        return self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]


class Statistics(unittest.TestCase):
    def test_median_and_spread(self):
        self.assertEqual(median([3]), 3)
        self.assertEqual(median([4, 1, 2, 3]), 2.5)
        # 0, 1, ... 10: tenths at 1 and 9, median 5.
        self.assertAlmostEqual(relative_spread(list(range(11))), 8 / 5)
        self.assertEqual(relative_spread([2, 2, 2]), 0)


class Timing(unittest.TestCase):
    def test_short_calls_come_in_groups(self):
        # A window of 1 ms has 10 calls of 100 us; the first of the warm-up calls does not count.
        stopwatch = FixedTimes(1.0, 100e-6)
        settings = TimingSettings(warm_up=3, samples=4, window_s=1e-3, limit_s=10)
        found = measure(stopwatch, lambda: None, settings)
        self.assertEqual(stopwatch.asked, [(1, False)] * 3 + [(10, False)] * 4)
        self.assertAlmostEqual(found.median_us, 100)
        self.assertEqual((found.samples, found.calls, found.spread), (4, 10, 0))

    def test_groups_do_not_fill_the_queue(self):
        self.assertEqual(measure(FixedTimes(1e-7), lambda: None, TimingSettings()).calls, CALLS_MAX)

    def test_long_calls_have_three_samples(self):
        stopwatch = FixedTimes(5.0)
        found = measure(stopwatch, lambda: None, TimingSettings(warm_up=5, samples=20, limit_s=2))
        # One warm-up call is longer than half of the limit already, and three samples are longer than all of it.
        self.assertEqual(stopwatch.asked, [(1, False)] * 5)
        self.assertEqual(found.samples, 3)

    def test_cold_calls_are_alone(self):
        stopwatch = FixedTimes(1e-5)
        found = measure(stopwatch, lambda: None, TimingSettings(warm_up=2, samples=4, is_cold=True))
        self.assertEqual(stopwatch.asked, [(1, False)] * 2 + [(1, True)] * 4)
        self.assertEqual(found.calls, 1)


if __name__ == "__main__":
    unittest.main()
