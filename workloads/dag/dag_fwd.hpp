// SPDX-License-Identifier: Apache-2.0
// Names of workloads/dag/dag, for headers that only declare functions with them or point to them.
#pragma once

namespace weft {

struct Op;
struct Workload;
class Communicator;
class RoleDag;
class SplitTable;

}  // namespace weft
