#!/usr/bin/env bash
# From a fresh machine to a speed-up plot: set up, build, sweep, plot.
#
#   tools/demo.sh [CONFIG]      CONFIG is a file in configs/, without .json (default: mgwfbp_fig10)
#
# The default regenerates Fig. 10 of the MG-WFBP paper: the speed-up of merging strategies on 4 to 2048 workers. Prints
# the table; leaves out/CONFIG.csv with every number, and the plots out/CONFIG.png and out/CONFIG.svg.

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

config=${1:-mgwfbp_fig10}
[ $# -le 1 ] || usage_error "takes one configuration, not $#"
[ -f "configs/$config.json" ] ||
  usage_error "no configs/$config.json (there are: $(basename -s .json -a configs/*.json | paste -sd ' ' -))"

sweep() { build/release/allreplay sweep "configs/$config.json" --jobs "$(cores)" --out "out/$config.csv" --force; }
plot() {
  build/release/allreplay plot "out/$config.csv" --config "configs/$config.json" --out "out/$config.png" --out "out/$config.svg"
}

mkdir -p out
phase "set up" tools/setup.sh
phase "build (release)" build release allreplay
phase "sweep $config" sweep
phase "plot" plot

printf '\nThe plots:\n  %s\n  %s\nThe numbers:\n  %s\n' "$PWD/out/$config.png" "$PWD/out/$config.svg" "$PWD/out/$config.csv"
