// SPDX-License-Identifier: Apache-2.0
// The positive control: the right use beside each misuse. It must compile, or the misuses prove
// nothing.
#include "tests/compile_fail/variables.hpp"

void right() {
  Duration between = t - t;
  Time later = t + d;
  Time earlier = t - d;
  later += d * 2;
  Duration total = d + 2 * d - between;
  Bytes size = b + b * 3;
  size += b;
  Bandwidth both = r * 2;
  static_cast<void>(t < later && d < total && b == Bytes::of(1500) && r < both && earlier <= t);

  both = Bandwidth::gbps(400);
  total = Duration::from_seconds(1.5);
  later = Time::zero() + Duration::ns(5);
  later = Time::zero() + d;
  total = t.since_start();
  size = Bytes::of(1500);
  l = Length::metres(30);
  long count = b.count();
  double seconds = d.in_s();

  total = weft::transmit_time(b, r);
  total = weft::propagation_delay(l);
  double bits = weft::fluid_bits(1e9, d);

  NodeId other = NodeId(link.index());
  other = NodeId(3);
  static_cast<void>(node == other);
  other = NodeId(node.index() + 1);
  static_cast<void>(array[node.index()] + count + seconds + bits);
}
