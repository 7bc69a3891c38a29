// SPDX-License-Identifier: Apache-2.0
// What kind of input a file is, by its format or, for our own text files, by its first field.
#pragma once

#include <cstdint>
#include <string>

#include "core/text/source_text.hpp"

namespace weft {

enum class InputKind : std::uint8_t { scenario, topology, workload, jobs, flows, measurements, model, plan, study };

struct RecognisedInput {
  InputKind kind = InputKind::scenario;
  std::string file;
  std::string format;
};

/// "FILE[:format]" as given on the command line. The part after the last colon is a format only if
/// it holds no slash or dot.
struct FileAndFormat {
  std::string file;
  std::string format;  ///< empty: by the file's ending
};
FileAndFormat split_format(const std::string& text);

/// What a file is that cannot be a scenario: JSON, YAML, a workload, a topology, a model, a plan or
/// a study.
/// Throws InputError [not-a-scenario], which says how to go on.
void check_is_scenario(const SourceText& source);

/// `text` is "FILE[:format]". Throws InputError [unknown-format] for a format nobody reads and
/// [unknown-input] where neither the format nor the content tells.
RecognisedInput recognise_input(const std::string& text);

}  // namespace weft
