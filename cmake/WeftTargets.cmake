# SPDX-License-Identifier: Apache-2.0
# One function per kind of target, so that flags and include paths are the same everywhere.

# Same bits on every compiler: no contraction of a*b+c into one rounding, no fast-math.
set(WEFT_COMPILE_OPTIONS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports string concatenation as overlapping memory (GCC bug 105651).
  list(APPEND WEFT_COMPILE_OPTIONS -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND WEFT_PCH)
  # What the library silences by pragmas in bits/char_traits.h; GCC forgets pragmas of precompiled
  # headers.
  list(APPEND WEFT_COMPILE_OPTIONS -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC collects its garbage from half a GiB on, which few files come to, instead of 128 MiB: up to
  # a fifth less of its time.
  list(APPEND WEFT_COMPILE_OPTIONS --param=ggc-min-expand=100 --param=ggc-min-heapsize=524288)
endif()
if(WEFT_WERROR)
  list(APPEND WEFT_COMPILE_OPTIONS -Werror)
endif()

# Where files are read and written rather than computed with, -O3 takes a fifth of the compiler's
# time and brings nothing.
set(WEFT_QUICK_OPTIMISATION $<$<CONFIG:Release>:-O2>)

# Libraries go into the Python module (tools/python), too, which is a shared object. Their symbols are
# hidden, so that the compiler still inlines, and the linker makes direct calls and addresses of what
# -fPIC leaves open: runs take as long as without.
set(WEFT_SHARED_OPTIONS -fPIC -fvisibility=hidden -fvisibility-inlines-hidden)
set(WEFT_LIBRARY_OPTIONS ${WEFT_COMPILE_OPTIONS} ${WEFT_HARDENING_OPTIONS} ${WEFT_SHARED_OPTIONS})

weft_precompile_for(library OPTIONS ${WEFT_LIBRARY_OPTIONS})
weft_precompile_for(quick_library OPTIONS ${WEFT_LIBRARY_OPTIONS} ${WEFT_QUICK_OPTIMISATION} ${WEFT_QUICK_HARDENING_OPTIONS})

# Libraries without code: who links an installed library of ours needs none of those that only its
# sources include.
set(WEFT_HEADER_ONLY Boost::headers CLI11::CLI11 Eigen3::Eigen nlohmann_json::nlohmann_json)

# weft_library(core [QUICK] SOURCES a.cpp ... LINK weft_x ... PRIVATE_LINK lib ... PRIVATE_HEADERS
# a.hpp ...)
# QUICK is for a folder to which the above applies. PRIVATE_LINK is for libraries that no header of
# the folder includes, but for PRIVATE_HEADERS, which are not installed.
function(weft_library name)
  cmake_parse_arguments(ARG "QUICK" "" "SOURCES;LINK;PRIVATE_LINK;PRIVATE_HEADERS;APART" ${ARGN})
  add_library(weft_${name} STATIC ${ARG_SOURCES})
  target_include_directories(weft_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
    $<INSTALL_INTERFACE:${WEFT_INSTALL_INCLUDEDIR}>)
  target_compile_features(weft_${name} PUBLIC cxx_std_20)
  target_compile_options(weft_${name} PRIVATE ${WEFT_LIBRARY_OPTIONS})
  foreach(library IN LISTS WEFT_HEADER_ONLY)
    list(TRANSFORM ARG_PRIVATE_LINK REPLACE "^${library}$" "$<BUILD_INTERFACE:${library}>")
  endforeach()
  target_link_libraries(weft_${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  set(kind library)
  if(ARG_QUICK)
    set(kind quick_library)
    target_compile_options(weft_${name} PRIVATE ${WEFT_QUICK_OPTIMISATION} ${WEFT_QUICK_HARDENING_OPTIONS})
  endif()
  weft_use_precompiled(${kind} weft_${name})
  # What protoc writes has the same static names in every file.
  set(generated ${ARG_SOURCES})
  list(FILTER generated INCLUDE REGEX "\\.pb\\.cc$")
  weft_unite(weft_${name} APART ${ARG_APART} ${generated})
  weft_install_library(${name} "${ARG_SOURCES}" "${ARG_PRIVATE_HEADERS}")
endfunction()

# Tests compile in half the time without optimisation. What they test is optimised, but for inline
# functions that the linker takes from them.
set(WEFT_TEST_OPTIMISATION -O0)

# A process takes a hundredth of a second to start, under a sanitizer a tenth, and there are
# thousands of tests, of which several make the same at first. Presets have 0, so that ctest knows
# every test; tools/test shares out.
set(WEFT_TEST_SHARDS 0 CACHE STRING
  "Processes among which each test program's tests are shared out (GoogleTest's shards), each writing its results to tests/*.xml; \
0: a process for every test")

# weft_long_tests(a.b ...): tests of many seconds, which ctest -j starts before all others, so that
# no core waits for one at the end.
function(weft_long_tests)
  set_tests_properties(${ARGN} PROPERTIES COST 100)
endfunction()

# weft_test(core SOURCES a_test.cpp ... LINK weft_core ...): one GoogleTest program per folder.
function(weft_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  target_compile_options(${name}_test PRIVATE ${WEFT_COMPILE_OPTIONS} ${WEFT_TEST_OPTIMISATION})
  target_compile_definitions(${name}_test PRIVATE
    WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" WEFT_SANITIZED=$<BOOL:${WEFT_SANITIZE}>)
  target_link_libraries(${name}_test PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  weft_use_precompiled(test ${name}_test)
  weft_unite(${name}_test)
  if(WEFT_UNITY)
    # Test files share most instances of templates: twice as many take a third less of the
    # compiler's time. More would leave a core idle at the end.
    set_target_properties(${name}_test PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
  endif()
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(WEFT_TEST_SHARDS EQUAL 0)
    include(GoogleTest)
    gtest_discover_tests(${name}_test TEST_PREFIX ${name}. NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST
      PROPERTIES TIMEOUT ${ARG_TIMEOUT})
    return()
  endif()
  foreach(shard RANGE 1 ${WEFT_TEST_SHARDS})
    math(EXPR index "${shard} - 1")
    set(test ${name}.shard_${shard}_of_${WEFT_TEST_SHARDS})
    add_test(NAME ${test} COMMAND ${name}_test)
    set_tests_properties(${test} PROPERTIES TIMEOUT 900
      ENVIRONMENT "GTEST_BRIEF=1;GTEST_TOTAL_SHARDS=${WEFT_TEST_SHARDS};GTEST_SHARD_INDEX=${index};GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/tests/${test}.xml")
  endforeach()
endfunction()

# weft_bench(phold SOURCES phold.cpp LINK weft_core): one Google Benchmark program per subject.
function(weft_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name}_bench ${ARG_SOURCES})
  target_compile_options(${name}_bench PRIVATE ${WEFT_LIBRARY_OPTIONS})
  target_link_libraries(${name}_bench PRIVATE ${ARG_LINK} benchmark::benchmark)
  weft_use_precompiled(library ${name}_bench)
  set_target_properties(${name}_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endfunction()
