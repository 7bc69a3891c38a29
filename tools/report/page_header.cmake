# SPDX-License-Identifier: Apache-2.0
# Writes the header by which report_template.cpp finds the page: cmake -DPAGE= -DHEADER= -P this.
file(SHA256 ${PAGE} digest)
file(WRITE ${HEADER} "// The page, SHA-256 ${digest}.\n#define WEFT_REPORT_TEMPLATE \"${PAGE}\"\n")
