# SPDX-License-Identifier: Apache-2.0
# Debian packages by `cpack -G DEB`: weft, what users run, and weft-dev, what programs are built
# with. CMakePresets.json has the presets for it: cmake --preset package, cmake --build --preset
# package, cpack --preset package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The Weft authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)

set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Weft authors <weft@localhost>" CACHE STRING "Maintainer of the Debian packages")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME weft)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "bash-completion, python3-torch, zsh, weft-dev")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "Weft simulates AI training clusters: hosts with GPUs, the fabric between them,
the jobs on them and the scheduler that places the jobs. It says how long
things take, at the level of jobs, flows or packets.
This package has the command, its manual page, completions for bash and zsh,
example scenarios and topologies, and the kernel sampler, which needs PyTorch.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME weft-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# The libraries are static, so what they link comes with whatever is built with them; these are what
# find_package(weft) looks for.
string(CONCAT CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "weft (= ${PROJECT_VERSION}), coinor-libcbc-dev, libboost-dev, libprotobuf-dev, libpugixml-dev, libsimdjson-dev, libspdlog-dev, libssl-dev, "
  "libnlopt-cxx-dev, libtbb-dev, libxgboost-dev, libyaml-cpp-dev, pkgconf, zlib1g-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Libraries, headers and protobuf schemas of Weft, a simulator of AI training
clusters, and what CMake's find_package(weft) reads.")

# Debian's place and form for the license.
install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian_copyright DESTINATION share/doc/weft RENAME copyright COMPONENT runtime)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian_copyright DESTINATION share/doc/weft-dev RENAME copyright COMPONENT development)

include(CPack)
