# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034  # the package lists are for those who read this file in
# Shared by tools/quickstart and tools/test (bash, sourced): messages with elapsed time, Debian and
# Ubuntu packages, build jobs.
#
# Nothing happens when this file is read; it defines `say`, `fail`, `install_packages` and
# `build_jobs`.

set_up_start_s=$(date +%s)

# One line per step: minutes and seconds since the start, then the text.
say() {
  local elapsed_s=$(($(date +%s) - set_up_start_s))
  printf '[%2dm%02ds] %s\n' $((elapsed_s / 60)) $((elapsed_s % 60)) "$*"
}

# A step that went wrong: what it was and what to do, then the end.
fail() {
  printf '%s: error: %s\n' "${0##*/}" "$1" >&2
  [ -z "${2:-}" ] || printf '  help: %s\n' "$2" >&2
  exit 1
}

# What the build needs.
build_packages=(
  ccache cmake coinor-libcbc-dev g++ git ninja-build pkgconf protobuf-compiler
  libbenchmark-dev libboost-graph-dev libcli11-dev libfmt-dev libgtest-dev libprotobuf-dev libpugixml-dev libsimdjson-dev libspdlog-dev
  libeigen3-dev libnlopt-cxx-dev libssl-dev libtbb-dev libxgboost-dev libyaml-cpp-dev nlohmann-json3-dev zlib1g-dev
)
# The page of reports is built by npm. Where there is one already, Debian's four hundred packages of it are left alone.
command -v npm >/dev/null || build_packages+=(nodejs npm)
# What tries the page in a browser: 400 MB, so that only --long asks for it, and has the test.
browser_packages=(chromium)
# What the house checks and the documents need on top, and what links faster.
test_packages=(clang-format jq lld mkdocs python3)
# What the Python module is built with, and what its users and tests have.
python_packages=(pybind11-dev python3-dev python3-matplotlib python3-pandas python3-pip python3-venv python3-wheel)
# The other compiler and its sanitizers: half a GiB that nothing needs before the stage behind the
# release build.
clang_packages=(clang libclang-rt-dev)
# What the kernel sampler runs its kernels with: 210 MB to fetch and 40 s to install on a bare Debian
# 12, so that only --long asks for it. Where it is there, every run has these tests.
sampler_packages=(python3-torch)
# A batch system, for studies on nodes of a cluster (`weft study --backend=slurm`); likewise.
cluster_packages=(munge slurm-wlm)
# What Debian packages are built with, and what tries them (tests/packaging/debian_check).
package_packages=(dpkg-dev file gzip)
package_test_packages=(debootstrap)

# Prints the given packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

# Runs a command as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# Installs what is missing of the given packages; does not touch apt when nothing is.
# The output of apt goes to the file named first and is shown when apt fails.
install_packages() {
  local log=$1
  shift
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "packages: this is not Debian or Ubuntu; taking the installed compiler and libraries"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if [ ${#missing[@]} -eq 0 ]; then
    say "packages: all $# are installed"
    return
  fi
  local by_hand="as root: apt-get update && apt-get install ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "${#missing[@]} packages are missing, and installing them needs root or sudo" "$by_hand"
    as_root true || fail "${#missing[@]} packages are missing, and sudo refuses" "$by_hand"
  fi
  say "packages: installing ${missing[*]}"
  if ! {
    as_root apt-get -q update &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "${missing[@]}"
  } </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "apt-get failed; its whole output is in $log" "$by_hand"
  fi
  say "packages: installed"
}

# How many compilers at a time: one per core, but no more than the memory carries at 1 GiB each.
build_jobs() {
  local cores memory_gib
  cores=$(nproc)
  memory_gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo 2>/dev/null)
  : "${memory_gib:=$cores}"
  [ "$memory_gib" -ge 1 ] || memory_gib=1
  echo $((cores < memory_gib ? cores : memory_gib))
}
