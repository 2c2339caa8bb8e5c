#!/usr/bin/env bash
# Draw the pictures of docs/strategies.md, each strategy's iteration below that of WFBP, on a model of six layers; and
# those of networks in docs/plots.md.
#
#   tools/make_pictures.sh [FOLDER]      strategies/ and networks/ go there (default: docs/pictures)
#
# Runs build/release/allreplay, or what $ALLREPLAY_PROGRAM names.

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

pictures=${1:-docs/pictures}
[ $# -le 1 ] || usage_error "takes one folder, not $#"
program=${ALLREPLAY_PROGRAM:-build/release/allreplay}
[ -x "$program" ] || usage_error "no program $program (build it: tools/test.sh or tools/demo.sh)"

compare() {
  "$program" compare --profile docs/examples/six_layers.json --cluster docs/examples/eight_workers.json \
    --option partition="4 MB" --option bucket_cap="16 MB" --option threshold="12 MB" --option cycle="5 ms" \
    --option reduce_bucket=4000000 --option prefetch_bucket=2000000 --option bucket_size=3000000 "$@" > /dev/null
}

folder=$pictures/strategies
mkdir -p "$folder"
compare --plot "$folder/all.svg"
compare --strategies s-sgd,wfbp --timeline "$folder/wfbp.svg"
for strategy in sync-easgd mg-wfbp optimal-merge ddp horovod bytescheduler p3 byteps us-byte dear mergecomp fsdp2 fsdp1 composer simple-fsdp zero-1 zero-2 zero-3 megatron megatron-fsdp best; do
  compare --strategies "wfbp,$strategy" --timeline "$folder/$strategy.svg"
done
run() {  # FILE STRATEGY OPTION…: one timeline, with options that other strategies do not have
  local file=$1 strategy=$2 option options=()
  shift 2
  for option in "$@" update="4 ms"; do options+=(--option "$option"); done
  "$program" run --profile docs/examples/six_layers.json --cluster docs/examples/eight_workers.json \
    --strategy "$strategy" "${options[@]}" --timeline "$folder/$file.svg" > /dev/null
}
run muon-owned fsdp2 optimizer=muon muon=owned
run zeropp zero-3 prefetch_bucket=2000000 reduce_bucket=4000000 qgz=true quantise="2 GB/s"
run diloco diloco sync_every=4 fragments=2 delay=1 outer_update="6 ms"

folder=$pictures/networks
mkdir -p "$folder"
"$program" collective --cluster docs/examples/leaf_spine_512.json --bytes 1GB --plot "$folder/leaf_spine.svg" > /dev/null
"$program" compare --profile bert-large_v100_b8 --cluster fat-tree-16,leaf-spine-64,bcube-32-2,torus-8x8 --workers 64 \
  --strategies ddp --collective ring --fidelity fluid --plot "$folder/fabrics.svg" > /dev/null
