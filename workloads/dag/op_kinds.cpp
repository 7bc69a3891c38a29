// SPDX-License-Identifier: Apache-2.0
#include "workloads/dag/op_kinds.hpp"

namespace weft {

std::string_view to_text(OpKind kind) {
  switch (kind) {
    case OpKind::compute:
      return "compute";
    case OpKind::collective:
      return "collective";
    case OpKind::send:
      return "send";
    case OpKind::receive:
      return "receive";
  }
  return "?";
}

std::string_view to_text(CollectiveType type) {
  switch (type) {
    case CollectiveType::all_reduce:
      return "all_reduce";
    case CollectiveType::all_gather:
      return "all_gather";
    case CollectiveType::reduce_scatter:
      return "reduce_scatter";
    case CollectiveType::all_to_all:
      return "all_to_all";
    case CollectiveType::broadcast:
      return "broadcast";
    case CollectiveType::reduce:
      return "reduce";
    case CollectiveType::gather:
      return "gather";
    case CollectiveType::scatter:
      return "scatter";
    case CollectiveType::barrier:
      return "barrier";
    case CollectiveType::all_to_all_v:
      return "all_to_all_v";
  }
  return "?";
}

bool has_root(CollectiveType type) {
  return type == CollectiveType::broadcast || type == CollectiveType::reduce || type == CollectiveType::gather ||
         type == CollectiveType::scatter;
}

}  // namespace weft
