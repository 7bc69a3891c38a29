// SPDX-License-Identifier: Apache-2.0
#include "tools/report/report_template.hpp"

#ifdef WEFT_HAS_REPORT
#include "tools/report/report_template_file.hpp"

// The assembler copies the file; no compiler takes half a megabyte of text as quickly.
__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    ".global weft_report_template_begin\n"
    "weft_report_template_begin:\n"
    ".incbin \"" WEFT_REPORT_TEMPLATE
    "\"\n"
    ".global weft_report_template_end\n"
    "weft_report_template_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" const char weft_report_template_begin[];
extern "C" const char weft_report_template_end[];
#endif

namespace weft {

std::string_view report_template() {
#ifdef WEFT_HAS_REPORT
  return {weft_report_template_begin, weft_report_template_end};
#else
  return {};
#endif
}

}  // namespace weft
