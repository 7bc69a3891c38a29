# SPDX-License-Identifier: Apache-2.0
# Builds the page of reports by npm, in the build folder: nothing is written beside its sources.
# Sets WEFT_BUILT_REPORT_PAGE.
find_program(WEFT_NPM npm DOC "npm, which builds the page of reports")
mark_as_advanced(WEFT_NPM)
if(NOT WEFT_NPM)
  message(FATAL_ERROR "The page of reports is built by npm, which is not installed.\n"
    "Install Debian's packages nodejs and npm, or configure with -DWEFT_REPORT=OFF: `weft report` then says that it is not there.")
endif()

set(page_source ${CMAKE_CURRENT_SOURCE_DIR}/page)
set(page_build ${CMAKE_CURRENT_BINARY_DIR}/page)
set(WEFT_BUILT_REPORT_PAGE ${page_build}/dist/index.html)
file(GLOB page_sources CONFIGURE_DEPENDS RELATIVE ${page_source} ${page_source}/src/*.ts ${page_source}/src/*.css
  ${page_source}/tests/*.ts)
set(page_packages package.json package-lock.json .npmrc)
list(APPEND page_sources index.html vite.config.ts tsconfig.json)

set(copied)
foreach(file IN LISTS page_sources page_packages)
  add_custom_command(OUTPUT ${page_build}/${file}
    COMMAND ${CMAKE_COMMAND} -E copy ${page_source}/${file} ${page_build}/${file}
    DEPENDS ${page_source}/${file}
    VERBATIM)
endforeach()
list(TRANSFORM page_sources PREPEND ${page_build}/ OUTPUT_VARIABLE sources_there)
list(TRANSFORM page_packages PREPEND ${page_build}/ OUTPUT_VARIABLE packages_there)

add_custom_command(OUTPUT ${page_build}/packages.stamp
  COMMAND ${WEFT_NPM} ci --no-audit --no-fund --loglevel=error
  COMMAND ${CMAKE_COMMAND} -E touch ${page_build}/packages.stamp
  DEPENDS ${packages_there}
  WORKING_DIRECTORY ${page_build}
  COMMENT "Fetching the packages of the page of reports"
  VERBATIM)
add_custom_command(OUTPUT ${WEFT_BUILT_REPORT_PAGE}
  COMMAND ${WEFT_NPM} run --silent check
  COMMAND ${WEFT_NPM} run --silent build -- --logLevel=warn
  DEPENDS ${sources_there} ${page_build}/packages.stamp
  WORKING_DIRECTORY ${page_build}
  COMMENT "Building the page of reports"
  VERBATIM)
