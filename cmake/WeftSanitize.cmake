# SPDX-License-Identifier: Apache-2.0
# WEFT_SANITIZE=address|thread: instrument everything we compile (presets asan and tsan).
#
# The build type is "Sanitize": no optimisation, since clang++ takes twice as long to optimise what
# it instruments as to compile it, and the standard library's own checks. Reports name functions;
# -DCMAKE_CXX_FLAGS_SANITIZE=-g1 adds lines for a tenth of the compiler's time. A finding ends the
# program, so the test that met it fails. Fuzzers, which run on, are optimised (CMakePresets.json).
set(WEFT_SANITIZE "" CACHE STRING "Sanitizer: empty, address (with undefined behaviour) or thread")
set_property(CACHE WEFT_SANITIZE PROPERTY STRINGS "" address thread)

if(WEFT_SANITIZE STREQUAL "address")
  set(weft_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(WEFT_SANITIZE STREQUAL "thread")
  set(weft_sanitize_flags -fsanitize=thread)
elseif(NOT WEFT_SANITIZE STREQUAL "")
  message(FATAL_ERROR "WEFT_SANITIZE is \"${WEFT_SANITIZE}\"; it takes address or thread")
endif()
if(WEFT_SANITIZE)
  add_compile_options(${weft_sanitize_flags} -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(${weft_sanitize_flags})
endif()

# WEFT_FUZZ: everything carries libFuzzer's coverage counters, and tests/fuzz builds the fuzzer
# (preset fuzz; clang++ only).
option(WEFT_FUZZ "Build the fuzzers" OFF)
if(WEFT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
