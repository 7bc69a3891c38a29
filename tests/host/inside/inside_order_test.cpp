// SPDX-License-Identifier: Apache-2.0
#include "host/inside/inside_order.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/dag/dag.hpp"

namespace weft::inside_order_test {
namespace {

constexpr std::uint16_t inside = 1;
constexpr std::uint16_t elsewhere = 2;

Op compute(Duration duration) {
  Op op;
  op.kind = OpKind::compute;
  op.duration = duration;
  return op;
}

Op collective(std::uint16_t communicator) {
  Op op;
  op.kind = OpKind::collective;
  op.communicator = communicator;
  op.bytes = Bytes::mib(1);
  return op;
}

std::optional<InsideOrder> order_of(RoleBuilder builder) {
  return InsideOrder::of(std::move(builder).finish().dag, {false, true, false});
}

// From the first to the second lead two paths, by 3 us of computation and by 5 + 1.
TEST(InsideOrder, GapsAreTheMostComputationOnAnyPath) {
  RoleBuilder builder;
  const std::uint32_t first = builder.add(collective(inside));
  const std::uint32_t brief = builder.add(compute(Duration::us(3)));
  const std::uint32_t other = builder.add(collective(elsewhere));
  const std::uint32_t longer = builder.add(compute(Duration::us(5)));
  const std::uint32_t last = builder.add(compute(Duration::us(1)));
  const std::uint32_t second = builder.add(collective(inside));
  const std::uint32_t after = builder.add(compute(Duration::us(70)));
  builder.depend(brief, first);
  builder.depend(other, first);
  builder.depend(longer, other);
  builder.depend(last, longer);
  builder.depend(second, brief);
  builder.depend(second, last);
  builder.depend(after, second);
  const std::optional<InsideOrder> order = order_of(std::move(builder));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->after(OpId(first)).op, OpId(second));
  EXPECT_EQ(order->after(OpId(first)).gap, Duration::us(6));
  EXPECT_TRUE(order->after(OpId(second)).op.is_none());
  EXPECT_EQ(order->elsewhere(), std::vector<std::uint16_t>{elsewhere});
  EXPECT_TRUE(order->partners().empty());
}

TEST(InsideOrder, IsNoneIfTwoMayBeUnderWayAtOnce) {
  RoleBuilder apart;
  apart.add(collective(inside));
  apart.add(collective(inside));
  EXPECT_FALSE(order_of(std::move(apart)));
  RoleBuilder in_stream;
  Op streamed = collective(inside);
  streamed.stream = 3;
  in_stream.add(streamed);
  in_stream.add(streamed);
  const std::optional<InsideOrder> order = order_of(std::move(in_stream));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->after(OpId(0)).gap, Duration::zero());
  RoleBuilder beside;
  beside.add(collective(inside));
  beside.add(collective(elsewhere));
  EXPECT_TRUE(order_of(std::move(beside))) << "what goes elsewhere does not matter";
}

TEST(InsideOrder, KnowsPartnersOnce) {
  RoleBuilder builder;
  for (const OpKind kind : {OpKind::send, OpKind::send, OpKind::receive}) {
    Op op;
    op.kind = kind;
    op.communicator = elsewhere;
    op.addressing = PeerAddressing::relative;
    op.peer = kind == OpKind::send ? 1 : -1;
    op.bytes = Bytes::mib(1);
    builder.add(op);
  }
  const std::optional<InsideOrder> order = order_of(std::move(builder));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->partners(), (std::vector<InsideOrder::Partner>{{elsewhere, PeerAddressing::relative, -1},
                                                                  {elsewhere, PeerAddressing::relative, 1}}));
}

TEST(InsideOrders, AreFoundOncePerRoleAndHost) {
  RoleBuilder builder;
  builder.add(collective(inside));
  builder.add(collective(inside));
  const RoleDag dag = std::move(builder).finish().dag;
  InsideOrders orders;
  EXPECT_EQ(orders.of(dag, {false, true, false}), nullptr);
  const InsideOrder* const none_inside = orders.of(dag, {false, false, false});
  ASSERT_NE(none_inside, nullptr);
  EXPECT_EQ(orders.of(dag, {false, false, false}), none_inside);
}

}  // namespace
}  // namespace weft::inside_order_test
