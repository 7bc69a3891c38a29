# SPDX-License-Identifier: Apache-2.0
# What makes builds fast and changes nothing of what they make: compiler cache, linker, precompiled
# headers.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # ccache keeps what precompiled headers are part of only if told so (its manual, "Precompiled
  # headers"); and where it goes by the compiler's list of included files instead of preprocessing,
  # an empty cache costs less.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${CCACHE_PROGRAM})
endif()

# LLVM's linker takes a fraction of the time of GNU ld, most of all under the sanitizers.
find_program(WEFT_LLD ld.lld DOC "LLVM's linker")
mark_as_advanced(WEFT_LLD)
if(WEFT_LLD)
  add_link_options(-fuse-ld=lld)
endif()

# Every file includes what it uses and compiles without precompiled headers, too. No header of ours
# is among them, so that a change of one compiles only the files that include it and compilers warn
# about ours as ever.
option(WEFT_PCH "Precompile the standard headers that most files include" ON)

set(WEFT_PCH_HEADERS
  <algorithm> <array> <charconv> <cmath> <cstdint> <filesystem> <fstream> <functional> <limits> <map> <memory> <numeric>
  <optional> <random> <set> <span> <string> <string_view> <tuple> <unordered_map> <utility> <vector>)

# weft_precompile_for(test OPTIONS -O0 ... LINK lib ... HEADERS <a.hpp> ...): the standard headers
# and these, precompiled once for all targets of a kind, which must be compiled with the same
# options. Libraries that few files of a kind include (CLI11, JSON) are not worth it: g++ takes
# longer to load what a file does not need than it saves where one does.
function(weft_precompile_for kind)
  cmake_parse_arguments(ARG "" "" "OPTIONS;LINK;HEADERS" ${ARGN})
  if(WEFT_PCH)
    set(source ${PROJECT_BINARY_DIR}/${kind}_headers.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Precompiled headers belong to a target, and a target has a source file.\n")
    add_library(weft_${kind}_headers OBJECT ${source})
    target_compile_options(weft_${kind}_headers PRIVATE ${ARG_OPTIONS})
    target_link_libraries(weft_${kind}_headers PRIVATE ${ARG_LINK})
    target_precompile_headers(weft_${kind}_headers PRIVATE ${WEFT_PCH_HEADERS} ${ARG_HEADERS})
    # ccache compares contents, so no time may be among them.
    target_compile_options(weft_${kind}_headers PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()

# weft_use_precompiled(test core_test): what the call above precompiled.
function(weft_use_precompiled kind target)
  if(WEFT_PCH)
    target_precompile_headers(${target} REUSE_FROM weft_${kind}_headers)
  endif()
endfunction()

# Files of a target share most of what they include: several compiled as one take half the time.
# Names in anonymous namespaces must differ within a folder for that; test files each have a
# namespace of their own. Whoever works on single files may turn it off.
option(WEFT_UNITY "Compile the files of a target several at a time" ON)

# weft_unite(weft_core APART a.cpp ...): all but these.
function(weft_unite target)
  cmake_parse_arguments(ARG "" "" "APART" ${ARGN})
  if(WEFT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # GCC takes sources that another one includes for headers.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()
