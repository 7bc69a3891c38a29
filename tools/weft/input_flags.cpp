// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/input_flags.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <string>

#include "core/text/input_file.hpp"
#include "core/values/units.hpp"

namespace weft {

void add_input_flags(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--unpacked-max", [](const std::string& text) { InputFile::set_unpacked_max(*parse_bytes(text).value); },
          fmt::format("Refuse compressed inputs that unpack to more than this; default {}",
                      to_text(InputFile::unpacked_max_default)))
      ->type_name("SIZE")
      ->check([](const std::string& text) {
        const ParsedQuantity<Bytes> size = parse_bytes(text);
        if (!size.value) return size.error.message;
        return *size.value > Bytes::zero() ? std::string() : fmt::format("{} is nothing", in_quotes(text));
      });
}

}  // namespace weft
