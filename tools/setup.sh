#!/usr/bin/env bash
# Install what allreplay is built, tested and plotted with, where it is missing.
#
#   tools/setup.sh                  what the README's commands need
#   tools/setup.sh --with torch     also PyTorch and torchvision, for tools/profile_torch.py
#   tools/setup.sh --with cluster   also Open MPI, Slurm and GNU parallel, for sweeps on many machines (docs/clusters.md)
#   tools/setup.sh --with packages  also what cpack makes Debian packages with (docs/python.md)
#   tools/setup.sh --with tests     also all that some tests skip without: these three, a browser, a checker of schemas, a fuzzer
#   tools/setup.sh --names SYSTEM   only print what the packages are called: debian, fedora, arch, alpine or homebrew
#
# On Debian and Ubuntu the missing packages come from the distribution through apt, with sudo when not root; nothing
# is asked, and nothing is done when all are there. Elsewhere it lists what is needed, by the names of the system that it
# finds; those names are untried.

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

# What sim/ is built with first, then what tests, benchmarks and tools/ need. "-": part of the one above, or not needed.
systems=(debian fedora arch alpine homebrew)
read -r -d '' table << 'END' || true
g++                  gcc-c++             gcc                g++               -
cmake                cmake               cmake              cmake             cmake
ninja-build          ninja-build         ninja              samurai           ninja
ccache               ccache              ccache             ccache            ccache
libboost-dev         boost-devel         boost              boost-dev         boost
libboost-graph-dev   -                   -                  -                 -
nlohmann-json3-dev   json-devel          nlohmann-json      nlohmann-json     nlohmann-json
libfmt-dev           fmt-devel           fmt                fmt-dev           fmt
libcli11-dev         cli11-devel         cli11              cli11             cli11
libeigen3-dev        eigen3-devel        eigen              eigen-dev         eigen
libtbb-dev           tbb-devel           onetbb             onetbb-dev        tbb
pkg-config           pkgconf-pkg-config  pkgconf            pkgconf           pkgconf
libcairo2-dev        cairo-devel         cairo              cairo-dev         cairo
fonts-dejavu-core    dejavu-sans-fonts   ttf-dejavu         font-dejavu       font-dejavu
rapidjson-dev        rapidjson-devel     rapidjson          rapidjson-dev     rapidjson
libtomlplusplus-dev  tomlplusplus-devel  tomlplusplus       tomlplusplus-dev  tomlplusplus
libyaml-cpp-dev      yaml-cpp-devel      yaml-cpp           yaml-cpp-dev      yaml-cpp
libpugixml-dev       pugixml-devel       pugixml            pugixml-dev       pugixml
zlib1g-dev           zlib-devel          zlib               zlib-dev          zlib
libprotobuf-dev      protobuf-devel      protobuf           protobuf-dev      protobuf
protobuf-compiler    protobuf-compiler   -                  protoc            -
pybind11-dev         pybind11-devel      pybind11           py3-pybind11-dev  pybind11
python3-dev          python3-devel       python             python3-dev       python
catch2               catch-devel         catch2             catch2-3          catch2
libbenchmark-dev     google-benchmark-devel  benchmark      benchmark-dev     google-benchmark
python3              python3             -                  python3           -
python3-numpy        python3-numpy       python-numpy       py3-numpy         numpy
END

# packages_of SYSTEM: its names.
packages_of() {
  local i names=()
  for i in "${!systems[@]}"; do
    [ "${systems[i]}" = "$1" ] || continue
    while read -r -a row; do
      [ "${row[i]}" = - ] || names+=("${row[i]}")
    done <<< "$table"
    echo "${names[*]}"
    return
  done
  usage_error "knows no packages of '$1' (only of ${systems[*]})"
}

# system_found: the first of what this system calls itself that the table has; else debian.
system_found() {
  local name
  if [ -r /etc/os-release ]; then
    for name in $(. /etc/os-release && echo "${ID-} ${ID_LIKE-}"); do
      case " ${systems[*]} " in *" $name "*) echo "$name"; return ;; esac
    done
  elif command -v brew > /dev/null; then
    echo homebrew
    return
  fi
  echo debian
}

read -r -a packages <<< "$(packages_of debian)"
torch=(python3-torch python3-torchvision)
cluster=(openmpi-bin libopenmpi-dev slurm-wlm parallel)
packaging=(dpkg-dev file help2man)
case "$*" in
  '') ;;
  '--with torch') packages+=("${torch[@]}") ;;
  '--with cluster') packages+=("${cluster[@]}") ;;
  '--with packages') packages+=("${packaging[@]}") ;;
  '--with tests') packages+=("${torch[@]}" "${cluster[@]}" "${packaging[@]}" chromium python3-jsonschema mandoc groff zsh fish clang libclang-rt-dev
                             python3-pandas mypy) ;;
  '--names '*)
    packages_of "$2"
    exit ;;
  *) usage_error "does not know '$*'" ;;
esac

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  system=$(system_found)
  {
    echo "setup.sh: this is neither Debian nor Ubuntu; allreplay needs these packages, in the names of $system (untried elsewhere):"
    echo "  $(packages_of "$system")"
  } >&2
  for program in c++ cmake ninja python3; do
    command -v "$program" > /dev/null || { echo "setup.sh: $program is missing" >&2; exit 1; }
  done
  exit 0  # the compiler and the tools are there; CMake names a library that is not
fi

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2> /dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "installed $package" <<< "$installed" || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=(env DEBIAN_FRONTEND=noninteractive)
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo > /dev/null; then
    echo "setup.sh: packages are missing and there is no sudo; run this as root:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo "${as_root[@]}")
fi

echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -q < /dev/null
"${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" < /dev/null
