// Named files: what readers of foreign files say about the fields of a scenario that name them.
//
// Where it sits: entries of a scenario file read other files with read_named_file(). Readers name
// the flags that would help; in a scenario the same options are fields of the message that names
// the file, and messages stand at these fields.
// Thread safety: belongs to one thread.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <string>
#include <utility>

#include "core/text/textproto.hpp"
#include "tools/simulation/scenario/loading.hpp"

namespace weft {

/// `text` with the fields of `message` in place of flags.
std::string with_fields(std::string text, const google::protobuf::Message& message);
/// `error` as said of the fields of `message`, where the message itself is wrong.
InputError about_fields(const InputError& error, const Loading& loading, const google::protobuf::Message& message,
                        const FieldPlaces& places);

/// Reads a file that `message` names by calling `read_file`. Throws its InputErrors as
/// about_fields() has them.
template <class Read>
auto read_named_file(Loading& loading, const google::protobuf::Message& message, const FieldPlaces& places, const Read& read_file) {
  std::vector<std::string>& assumptions = loading.scenario.assumptions;
  const std::size_t known = assumptions.size();
  try {
    auto content = read_file();
    for (std::size_t i = known; i < assumptions.size(); ++i) assumptions[i] = with_fields(std::move(assumptions[i]), message);
    return content;
  } catch (const InputError& error) {
    throw about_fields(error, loading, message, places);
  }
}

}  // namespace weft
