// SPDX-License-Identifier: Apache-2.0
// Variables of the strong types, for the expressions in CMakeLists.txt of this folder.
#pragma once

#include "core/values/ids.hpp"
#include "core/values/units.hpp"

using weft::Bandwidth;
using weft::Bytes;
using weft::Duration;
using weft::Length;
using weft::LinkId;
using weft::NodeId;
using weft::Time;

extern Time t;
extern Duration d;
extern Bytes b;
extern Bandwidth r;
extern Length l;
extern NodeId node;
extern LinkId link;
extern int array[4];
