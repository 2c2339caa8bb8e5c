#!/usr/bin/env bash
# Regenerate what the papers' evaluations show: every sweep, every figure, and the page docs/generated/reproduction.md.
#
#   tools/reproduce.sh [--jobs N] [--pictures] [CONFIG…]
#
# Sets up, builds, runs every file in configs/ into out/reproduction/NAME.csv, draws NAME.png and NAME.svg beside it, and
# writes docs/generated/reproduction.md. N rows are simulated at a time (default: one per core); numbers do not depend
# on it.
# Stopped and called again, it goes on where it was; sweeps older than the program or their configuration are made anew.
# With CONFIG (a file of configs/, without .json) only these are run and drawn, and the page is left alone. --pictures also
# redraws the pictures that pages show, docs/pictures/finding_*.svg.

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

jobs=$(cores)
configs=()
pictures=false
while [ $# -gt 0 ]; do
  case "$1" in
    --jobs)
      [[ "${2-}" =~ ^[1-9][0-9]*$ ]] || usage_error "--jobs takes a number of at least 1, not '${2-}'"
      jobs=$2
      shift 2 ;;
    --pictures)
      pictures=true
      shift ;;
    -*) usage_error "no option $1" ;;
    *)
      [ -f "configs/$1.json" ] || usage_error "no configs/$1.json (there are: $(basename -s .json -a configs/*.json | paste -sd ' ' -))"
      configs+=("$1")
      shift ;;
  esac
done
write_page=false
if [ ${#configs[@]} -eq 0 ]; then
  write_page=true
  while IFS= read -r name; do configs+=("$name"); done < <(basename -s .json -a configs/*.json)
fi
program=build/release/allreplay
out=out/reproduction

# sweep NAME: its rows; only its complaints are shown.
sweep() {
  local config="configs/$1.json" rows="$out/$1.csv"
  if [ "$program" -nt "$rows" ] || [ "$config" -nt "$rows" ]; then rm -f "$rows"; fi
  "$program" sweep "$config" --jobs "$jobs" --out "$rows" --resume > /dev/null 2> "$out/$1.log" || { cat "$out/$1.log" >&2; return 1; }
  rm -f "$out/$1.log"
}
sweeps() {
  local done=0 name
  for name in "${configs[@]}"; do
    done=$((done + 1))
    printf '%3d/%d  %s\n' "$done" "${#configs[@]}" "$name"
    sweep "$name" || return
  done
}
draw() { "$program" plot "$out/$1.csv" --config "configs/$1.json" --out "$out/$1.png" --out "$out/$1.svg"; }
figures() {  # as many at a time as there are jobs
  local name status=0
  for name in "${configs[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || status=1; done
    draw "$name" &
  done
  while [ -n "$(jobs -rp)" ]; do wait -n || status=1; done
  wait || status=1
  return "$status"
}
page() { python3 tools/reproduction.py --program "$program" --sweeps "$out"; }
shown() {
  local picture name
  for picture in docs/pictures/finding_*.svg; do
    name=${picture##*/}
    name=${name%.*}
    "$program" plot "$out/$name.csv" --config "configs/$name.json" --out "$picture"
  done
}

mkdir -p "$out"
phase "set up" tools/setup.sh
phase "build (release)" build release allreplay
phase "${#configs[@]} sweeps" sweeps
phase "${#configs[@]} figures" figures
if "$write_page"; then phase "page" page; fi
if "$pictures"; then phase "pictures of the page" shown; fi

printf '\nThe figures and their numbers:\n  %s/NAME.png, .svg and .csv\n' "$PWD/$out"
if "$write_page"; then printf 'The page:\n  %s\n' "$PWD/docs/generated/reproduction.md"; fi
