// SPDX-License-Identifier: Apache-2.0
// Named files: what readers of foreign files say about the fields of a scenario that name them.
//
// Where it sits: entries of a scenario file read other files with read_named_file(). The options of
// a reader are fields of the message that names the file (core/text/option_names.hpp). A diagnostic
// that says which option is wrong stands at that field.
// Thread safety: belongs to one thread.
#pragma once

#include <google/protobuf/message.h>

#include "core/text/textproto.hpp"
#include "tools/simulation/scenario/loading.hpp"

namespace weft {

/// `error` at the fields of `message`, where the message itself is wrong and not what the file
/// holds.
InputError about_fields(const InputError& error, const Loading& loading, const google::protobuf::Message& message,
                        const FieldPlaces& places);

/// Reads a file that `message` names by calling `read_file`. Throws its InputErrors as
/// about_fields() has them.
template <class Read>
auto read_named_file(const Loading& loading, const google::protobuf::Message& message, const FieldPlaces& places,
                     const Read& read_file) {
  try {
    return read_file();
  } catch (const InputError& error) {
    throw about_fields(error, loading, message, places);
  }
}

}  // namespace weft
