# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where. Component runtime: the binary, its manual page and completions,
# examples, presets and the kernel sampler.
# Component development: libraries, headers, .proto files and what find_package(weft) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers include each other by their paths in the project, so all of them are below a folder of
# their own.
set(WEFT_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR}/weft)
set(WEFT_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
# Debian's zsh reads what packages bring from vendor-completions.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
  set(zsh_completions ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
else()
  set(zsh_completions ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
set(WEFT_INSTALL_ZSH_COMPLETIONS ${zsh_completions} CACHE STRING "Folder of zsh's completions below the prefix")
mark_as_advanced(WEFT_INSTALL_ZSH_COMPLETIONS)

# Called by weft_library(): the library as weft::NAME, the folder's headers and .proto files, and
# headers that protoc wrote.
function(weft_install_library name sources private_headers)
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(weft::${name} ALIAS weft_${name})
  install(TARGETS weft_${name} EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(left_out)
  foreach(header IN LISTS private_headers)
    list(APPEND left_out REGEX "/${header}$" EXCLUDE)
  endforeach()
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/ DESTINATION ${WEFT_INSTALL_INCLUDEDIR}/${folder} COMPONENT development
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.proto" PATTERN "examples" EXCLUDE PATTERN "presets" EXCLUDE ${left_out})
  set(generated ${sources})
  list(FILTER generated INCLUDE REGEX "\\.pb\\.h$")
  install(FILES ${generated} DESTINATION ${WEFT_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endfunction()

# Called once, after all folders.
function(weft_install_project)
  install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${WEFT_INSTALL_CMAKEDIR} COMPONENT development)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/weftConfig.cmake.in ${PROJECT_BINARY_DIR}/weftConfig.cmake
    INSTALL_DESTINATION ${WEFT_INSTALL_CMAKEDIR})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
    DESTINATION ${WEFT_INSTALL_CMAKEDIR} COMPONENT development)

  set(data ${CMAKE_INSTALL_DATADIR}/weft)
  install(DIRECTORY tools/examples/ DESTINATION ${data}/examples COMPONENT runtime)
  install(DIRECTORY tools/nightly/ DESTINATION ${data}/examples/nightly COMPONENT runtime)
  install(DIRECTORY workloads/examples/ DESTINATION ${data}/examples/workloads COMPONENT runtime)
  install(DIRECTORY topologies/presets/ DESTINATION ${data}/presets/topologies COMPONENT runtime)
  install(DIRECTORY tools/kernel_sampler DESTINATION ${data} COMPONENT runtime FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
  install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
endfunction()
