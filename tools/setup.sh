#!/usr/bin/env bash
# Install what allreplay is built, tested and plotted with, where it is missing.
#
#   tools/setup.sh                 what the README's commands need
#   tools/setup.sh --with torch    also PyTorch and torchvision, for tools/profile_torch.py
#   tools/setup.sh --with cluster  also Open MPI, Slurm and GNU parallel, for sweeps on many machines (docs/clusters.md)
#   tools/setup.sh --with tests    also all that some tests skip without: these two, a browser, a checker of schemas, a fuzzer
#
# On Debian and Ubuntu the missing packages come from the distribution through apt, with sudo when not root; nothing
# is asked, and nothing is done when all are there. Elsewhere it lists what is needed.

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

packages=(
  g++ cmake ninja-build ccache                        # the build: C++20, CMake 3.22 or newer
  libboost-dev libboost-graph-dev nlohmann-json3-dev  # what sim/ uses
  libfmt-dev libcli11-dev libeigen3-dev libtbb-dev
  pkg-config libcairo2-dev fonts-dejavu-core          # sim/picture, and the letters in its pictures
  rapidjson-dev zlib1g-dev libprotobuf-dev protobuf-compiler
  catch2 libbenchmark-dev                             # the tests and benchmarks
  python3 python3-matplotlib                          # tools/
)
torch=(python3-torch python3-torchvision)
cluster=(openmpi-bin libopenmpi-dev slurm-wlm parallel)
case "$*" in
  '') ;;
  '--with torch') packages+=("${torch[@]}") ;;
  '--with cluster') packages+=("${cluster[@]}") ;;
  '--with tests') packages+=("${torch[@]}" "${cluster[@]}" chromium python3-jsonschema mandoc groff zsh fish clang libclang-rt-dev) ;;
  *) usage_error "does not know '$*'" ;;
esac

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  {
    echo "setup.sh: this is neither Debian nor Ubuntu; allreplay needs what these Debian packages hold:"
    echo "  ${packages[*]}"
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
