#!/usr/bin/env bash
# From a fresh machine to a speed-up plot: set up, build, sweep, plot.
#
#   tools/demo.sh [CONFIG]      CONFIG is a file in configs/, without .json (default:
#                               finding_gpu_generations)
#
# The default shows how BERT-Large, as it was measured on six GPUs, scales from 8 to 512 workers by DDP and by the best
# schedule. Prints the table; leaves out/CONFIG.csv with every number, and the plots out/CONFIG.png and out/CONFIG.svg.

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

config=${1:-finding_gpu_generations}
[ $# -le 1 ] || usage_error "takes one configuration, not $#"
[ -f "configs/$config.json" ] ||
  usage_error "no configs/$config.json (there are: $(basename -s .json -a configs/*.json | paste -sd ' ' -))"

sweep() { build/release/allreplay sweep "configs/$config.json" --jobs "$(cores)" --out "out/$config.csv" --force; }
plot() {
  build/release/allreplay plot "out/$config.csv" --config "configs/$config.json" --out "out/$config.png" --out "out/$config.svg"
}

mkdir -p out
phase "set up" tools/setup.sh
phase "build (release)" build release allreplay_products
phase "sweep $config" sweep
phase "plot" plot

printf '\nThe plots:\n  %s\n  %s\nThe numbers:\n  %s\n' "$PWD/out/$config.png" "$PWD/out/$config.svg" "$PWD/out/$config.csv"
