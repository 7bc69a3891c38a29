// SPDX-License-Identifier: Apache-2.0
// Host list: hosts as scenario files and parameters name them, "0-7,16,32-62:2".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/text/diagnostics_fwd.hpp"
#include "core/values/ids.hpp"

namespace weft {

/// In the order of the text, of which `field` is the name. `host_count`: of the cluster; none where
/// it is not known yet. Throws InputError [bad-hosts].
std::vector<HostId> parse_host_list(const std::string& field, const std::string& text, std::optional<std::uint32_t> host_count,
                                    const SourcePlace& place);

}  // namespace weft
