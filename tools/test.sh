#!/usr/bin/env bash
# Set up, build and run the tests.
#
#   tools/test.sh [--all] [PRESET…] [-- CTEST ARGUMENTS]
#
#   tools/test.sh                  the check preset: a module's files compiled together, warnings are errors
#   tools/test.sh --all            with the long tests, as CI: those that ask PyTorch, a browser, shells, MPI, Slurm or a
#                                  fuzzer, hundreds of runs of what other tests run with them, and all random cases
#   tools/test.sh dev              each file compiled alone, for a debugger: what changes are made with; takes longer
#   tools/test.sh check asan       then again under the address and undefined-behaviour sanitizers
#   tools/test.sh -- -R schedule   only the tests whose names match

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

presets=()
short=(--label-exclude long)
while [ $# -gt 0 ]; do
  case "$1" in
    --) shift; break ;;
    --all) short=() ;;
    check | dev | release) presets+=("$1") ;;
    asan)
      command -v clang++ > /dev/null || usage_error "preset asan needs clang++, which tools/setup.sh --with tests installs"
      presets+=(asan) ;;
    *) usage_error "no preset '$1' (there are: check dev release asan)" ;;
  esac
  shift
done

if [ $# -gt 0 ]; then short=(); fi  # whoever names tests means them
if [ ${#short[@]} -gt 0 ]; then     # and fewer random cases
  export ALLREPLAY_PEER_CASES="${ALLREPLAY_PEER_CASES:-60}" ALLREPLAY_CODEC_CASES="${ALLREPLAY_CODEC_CASES:-30}"
  export ALLREPLAY_SHARDED_CASES="${ALLREPLAY_SHARDED_CASES:-15}" ALLREPLAY_DAMAGED_FILES="${ALLREPLAY_DAMAGED_FILES:-150}"
  export ALLREPLAY_PIPELINE_CASES="${ALLREPLAY_PIPELINE_CASES:-4}" ALLREPLAY_JOBS_CASES="${ALLREPLAY_JOBS_CASES:-10}"
fi
phase "set up" tools/setup.sh
for preset in "${presets[@]:-check}"; do
  phase "build ($preset)" build "$preset" all tests
  phase "test ($preset)" ctest --preset "$preset" --output-on-failure --parallel "$(cores)" ${short[@]+"${short[@]}"} "$@" < /dev/null
done
if [ ${#short[@]} -gt 0 ]; then echo "The long tests were left out: tools/test.sh --all"; fi
