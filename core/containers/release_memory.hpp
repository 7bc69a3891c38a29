// SPDX-License-Identifier: Apache-2.0
// Release memory: an emptied container keeps none of its memory, which neither clear() nor the
// assignment of {} promises.
// Threads: as the container.
#pragma once

namespace weft {

template <class Container>
void release_memory(Container& container) {
  Container().swap(container);
}

}  // namespace weft
