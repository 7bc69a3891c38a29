# What makes builds fast and changes nothing of what they make: compiler cache, linker.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# LLVM's linker takes a fraction of the time of GNU ld, most of all under the sanitizers.
find_program(WEFT_LLD ld.lld DOC "LLVM's linker")
mark_as_advanced(WEFT_LLD)
if(WEFT_LLD)
  add_link_options(-fuse-ld=lld)
endif()
