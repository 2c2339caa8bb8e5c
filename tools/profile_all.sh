#!/usr/bin/env bash
# Measure the traces of a list of models on this machine's GPU, unattended, with tools/profile_torch.py.
#
#   tools/profile_all.sh [--out FOLDER] [--budget SECONDS] [--seconds SECONDS] [--device D] [--list FILE]
#
#   --out FOLDER       where traces go (default: traces)
#   --budget SECONDS   stop by then (default: 540); run it again to go on: what is in FOLDER is skipped
#   --seconds SECONDS  of measured iterations per trace, about (default: 8)
#   --device D         cuda, cuda:N or cpu (default: cuda)
#   --list FILE        other models: lines of NAME, MODEL, batch, precision and further options of profile_torch.py,
#                      where NAME begins the file's name: resnet50 resnet50 32 bf16 --input 3x160x160
#
# A model that fails (out of memory, say) is named at the end, and the others go on. Exit status: 0 when all traces are
# there, 1 when some failed, 3 when the time was up before all were tried.

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

out=traces budget=540 seconds=8 device=cuda list=
while [ $# -gt 0 ]; do
  case "$1" in
    --out | --budget | --seconds | --device | --list)
      [ $# -ge 2 ] || usage_error "$1 needs a value"
      printf -v "${1#--}" '%s' "$2"
      shift 2 ;;
    *) usage_error "no option '$1'" ;;
  esac
done
[ -d "$out" ] || usage_error "there is no folder $out"
[ -z "$list" ] || [ -r "$list" ] || usage_error "cannot read $list"
for number in "$budget" "$seconds"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || usage_error "'$number' is no number of seconds"
done

jobs() {
  if [ -n "$list" ]; then
    sed '/^[[:space:]]*\(#\|$\)/d' "$list"
    return
  fi
  local precision
  for precision in fp32 bf16; do
    printf "%s %s %s $precision\n" \
      resnet50 resnet50 32   resnet50 resnet50 64   resnet50 resnet50 128   resnet152 resnet152 32 \
      vgg16 vgg16 32   vgg19 vgg19 32   alexnet alexnet 128   googlenet googlenet 32 \
      densenet161 densenet161 32   densenet201 densenet201 32   inception_v3 inception_v3 32   mobilenet_v2 mobilenet_v2 32 \
      bert_base hf:bert-base-uncased 32   bert_large hf:bert-large-uncased 8   gpt2 hf:gpt2 8
  done
  local name batch
  for batch in 1 2 4 8 16 32; do
    for name in gpt2-medium gpt2-large gpt2-xl gpt3-2.7b; do
      echo "${name//[-.]/_}_blocks hf:$name $batch bf16 --layers blocks --warmup 3"
      echo "${name//[-.]/_}_blocks_compiled hf:$name $batch bf16 --compile --warmup 3"
    done
  done
}

gpu=$(tools/profile_torch.py --device "$device" --short-name)
failed=() left=0
while read -r name model batch precision options; do
  suffix=_$precision
  [ "$precision" != fp32 ] || suffix=
  trace=$out/${name}_${gpu}_b$batch$suffix.json
  [ ! -e "$trace" ] || continue
  remaining=$((budget - SECONDS))
  if [ "$remaining" -le 0 ]; then
    left=$((left + 1))
    continue
  fi
  printf '\n== %s (%d s left)\n' "$trace" "$remaining"
  status=0
  # shellcheck disable=SC2086  # the options are words
  timeout "$remaining" tools/profile_torch.py "$model" --batch "$batch" --precision "$precision" --device "$device" \
    --seconds "$seconds" $options --out "$trace" < /dev/null || status=$?
  case $status in
    0) ;;
    124) left=$((left + 1)) ;;
    *) failed+=("$trace") ;;
  esac
done < <(jobs)

[ ${#failed[@]} -eq 0 ] || printf 'profile_all.sh: failed: %s\n' "${failed[*]}" >&2
if [ "$left" -gt 0 ]; then
  echo "profile_all.sh: time is up with $left traces to measure; run it again to go on" >&2
  exit 3
fi
[ ${#failed[@]} -eq 0 ]
