// SPDX-License-Identifier: Apache-2.0
// Names of core/text/diagnostics, for headers that only declare functions with them. Most of the
// project includes such headers, and need not be compiled anew when diagnostics change.
#pragma once

namespace weft {

struct SourcePlace;
struct Diagnostic;
class Diagnostics;
class InputError;

}  // namespace weft
