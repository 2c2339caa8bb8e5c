#!/usr/bin/env bash
# Set up, build and run every test.
#
#   tools/test.sh [PRESET…] [-- CTEST ARGUMENTS]
#
#   tools/test.sh                  the check preset: a module's files compiled together, warnings are errors
#   tools/test.sh dev              each file compiled alone, for a debugger: what changes are made with; takes longer
#   tools/test.sh check asan       then again under the address and undefined-behaviour sanitizers
#   tools/test.sh -- -R schedule   only the tests whose names match

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

presets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --) shift; break ;;
    check | dev | release | asan) presets+=("$1") ;;
    *) usage_error "no preset '$1' (there are: check dev release asan)" ;;
  esac
  shift
done

phase "set up" tools/setup.sh
for preset in "${presets[@]:-check}"; do
  phase "build ($preset)" build "$preset"
  phase "test ($preset)" ctest --preset "$preset" --output-on-failure --parallel "$(cores)" "$@" < /dev/null
done
