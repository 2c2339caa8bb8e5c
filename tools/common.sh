# shellcheck shell=bash
# Sourced first by the scripts beside it: strict mode, --help, and the repository root as working directory.

set -euo pipefail

case "${1-}" in
  -h | --help)  # the comment at the top of the script
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
    exit 0 ;;
esac

CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

# usage_error TEXT: end as bad input does.
usage_error() {
  printf '%s: %s (see --help)\n' "$(basename -- "$0")" "$1" >&2
  exit 2
}

# phase TITLE COMMAND…: run a step; say what it is, and how long it took.
phase() {
  local title=$1 start=$SECONDS status=0
  shift
  printf '\n== %s\n' "$title"
  "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    printf '== %s: FAILED after %d s\n' "$title" $((SECONDS - start)) >&2
    exit "$status"
  fi
  printf '== %s: done in %d s\n' "$title" $((SECONDS - start))
}

# build PRESET [TARGET…]: configure and compile build/PRESET. (&&: a phase switches off bash's own stop on errors.)
build() {
  local preset=$1
  shift
  cmake --preset "$preset" --log-level=WARNING > /dev/null &&
    cmake --build --preset "$preset" ${1+--target "$@"}
}

cores() { getconf _NPROCESSORS_ONLN; }
