// SPDX-License-Identifier: Apache-2.0
// Ops of a role by their names, for tests of workloads.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/dag/dag.hpp"

namespace weft::named_ops {

/// None: the size of the DAG.
inline std::uint32_t find_op(const RoleDag& dag, std::string_view name) {
  std::uint32_t i = 0;
  while (i < dag.size() && dag.name(OpId(i)) != name) ++i;
  return i;
}
inline bool has_op(const RoleDag& dag, std::string_view name) { return find_op(dag, name) < dag.size(); }
inline std::uint32_t index_of(const RoleDag& dag, std::string_view name) {
  if (has_op(dag, name)) return find_op(dag, name);
  ADD_FAILURE() << "no op " << name;
  return 0;
}
inline Op op_named(const RoleDag& dag, std::string_view name) { return dag.op(OpId(index_of(dag, name))); }

/// Does `later` wait for `earlier`, directly or not?
inline bool follows(const RoleDag& dag, std::string_view later, std::string_view earlier) {
  std::vector<bool> reached(dag.size(), false);
  reached[index_of(dag, earlier)] = true;
  for (std::uint32_t i = 0; i < dag.size(); ++i) {
    if (!reached[i]) continue;
    for (const OpId next : dag.successors(OpId(i))) reached[next.index()] = true;
  }
  return reached[index_of(dag, later)];
}

}  // namespace weft::named_ops
