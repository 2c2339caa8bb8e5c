#!/usr/bin/env bash
# Fetch published profiles of real GPUs, check them, and import them as traces.
#
#   tools/get_public_traces.sh [--only NAME]... [--shipped] [--from-dir DIR] [--out DIR]
#   tools/get_public_traces.sh --list
#
#   --list          what there is: name, hardware, licence, address
#   --only NAME     this one only; any number of times
#   --shipped       those that stand in traces/: with --out traces they are made anew
#   --from-dir DIR  fetch nothing: take the files from DIR and the folders in it, where they may have any names
#   --out DIR       where the traces go (out/public_traces); what was fetched is kept in DIR/originals
#
# traces/public.json says where each file stands, and its SHA-256. What was cut off goes on, or starts again; nothing
# half-fetched or unchecked is ever imported. tools/convert_trace.py and tools/public_tables.py make CSVs of formats that `allreplay import`
# does not read. Then:
#
#   allreplay compare --profile out/public_traces/googlenet_k80_b32_bcaffe_4nodes.json --cluster v100-10gbe

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

manifest=traces/public.json
only=() from_dir="" out=out/public_traces list=false shipped=

# The user's paths start where the user is.
absolute() { case "$1" in /*) printf '%s' "$1" ;; *) printf '%s/%s' "$OLDPWD" "$1" ;; esac; }

while [ $# -gt 0 ]; do
  case "$1" in
    --list) list=true; shift; continue ;;
    --shipped) shipped=shipped; shift; continue ;;
    --only | --from-dir | --out) [ -n "${2-}" ] || usage_error "$1 needs a value" ;;
    *) usage_error "no option '$1'" ;;
  esac
  case "$1" in
    --only) only+=("$2") ;;
    --from-dir) from_dir=$(absolute "$2"); [ -d "$from_dir" ] || usage_error "--from-dir: no folder $2" ;;
    --out) out=$(absolute "$2") ;;
  esac
  shift 2
done

# The manifest's entries as lines of fields, each ended by a unit separator (0x1F), which no field holds: name, importer, hardware,
# licence, note; how many files, and of each its address, SHA-256, bytes, name; how many words of the converter, and these; options…
entries() {
  python3 -I - "$manifest" "$shipped" "${only[@]}" << 'PYTHON'
import json, re, sys
manifest, shipped, *only = sys.argv[1:]
traces = json.load(open(manifest, encoding="utf-8"))["traces"]
names = [trace["name"] for trace in traces]
def is_name(text):  # names become files, and addresses are fetched: nothing else than this script's own
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", text)
for trace in traces:
    for path in [file["path"] for file in trace["files"]]:
        if not is_name(trace["name"]) or not is_name(path.rsplit("/", 1)[-1]):
            sys.exit(f"get_public_traces.sh: {manifest}: {trace['name']!r} or {path!r} is no name of a file (letters, digits, _ . -)")
    if not trace["repository"].startswith("https://"):
        sys.exit(f"get_public_traces.sh: {manifest}: {trace['repository']!r} is no https:// address")
for name in only:
    if name not in names:
        sys.exit(f"get_public_traces.sh: no trace '{name}' (there are: {' '.join(names)})")
for trace in traces:
    if only and trace["name"] not in only or shipped and not trace.get("shipped"):
        continue
    raw = f"{trace['repository'].replace('github.com', 'raw.githubusercontent.com')}/{trace['commit']}"
    source = f"{trace['repository']} at {trace['commit']} ({trace['licence']}); {trace['hardware']}"
    note = "made of " + " and ".join(f"{file['path']} (SHA-256 {file['sha256']})" for file in trace["files"])
    if "note" in trace:
        note += f"; {trace['note']}"
    files = [[f"{raw}/{file['path']}", file["sha256"], file["bytes"], file["path"].rsplit("/", 1)[-1]] for file in trace["files"]]
    table = trace.get("table", [])
    print(trace["name"], trace["importer"], trace["hardware"], trace["licence"], note, len(files), *sum(files, []),
          len(table), *table, "--source", source, *trace["options"], sep="\x1f", end="\x1f\n")
PYTHON
}

is() { [ -f "$1" ] && [ "$(sha256sum < "$1")" = "$2  -" ]; }  # FILE SHA256

# fetch ADDRESS FILE SHA256: a whole, checked FILE, or none. What an earlier call left goes on where it ended; where that does not give
# the file, it starts again.
fetch() {
  local address=$1 file=$2 sha256=$3 part=$2.part resumed=false status=0
  is "$file" "$sha256" && return
  [ ! -s "$part" ] || resumed=true
  is "$part" "$sha256" ||
    curl --proto '=https' --proto-redir '=https' --fail --silent --show-error --location --retry 3 --continue-at - --output "$part" "$address" || status=$?
  if is "$part" "$sha256"; then
    mv "$part" "$file"
  elif $resumed && [[ $status = 0 || $status = 22 || $status = 33 || $status = 36 ]]; then  # all there, or no going on
    rm "$part"
    fetch "$address" "$file" "$sha256"
  elif [ "$status" = 0 ]; then
    rm -f "$part"
    echo "get_public_traces.sh: $address: is not the file that $manifest names: another SHA-256" >&2
    return 2
  else
    echo "get_public_traces.sh: $address: cannot be fetched (--from-dir takes files that you have)" >&2
    return 2
  fi
}

# find_in DIR BYTES SHA256: the file of that content, whatever its name.
find_in() {
  local candidate
  while IFS= read -r -d '' candidate; do
    if is "$candidate" "$3"; then
      printf '%s' "$candidate"
      return
    fi
  done < <(find "$1" -type f -size "$2"c -print0 | sort -z)
  return 1
}

lines=$(entries) || exit 2
program=${ALLREPLAY_PROGRAM:-build/release/allreplay}
if ! $list && [ ! -x "$program" ]; then
  phase "build" build release allreplay
fi

made=$(mktemp --suffix .csv) said=$(mktemp)
trap 'rm -f "$made" "$said"' EXIT
while IFS=$'\x1f' read -r -d $'\n' line; do
  IFS=$'\x1f' read -r -a field <<< "$line"
  name=${field[0]} importer=${field[1]} hardware=${field[2]} licence=${field[3]} note=${field[4]} count=${field[5]}
  field=("${field[@]:6}") files=()
  for ((; count > 0; --count)); do
    address=${field[0]} sha256=${field[1]} bytes=${field[2]} file=${field[3]}
    field=("${field[@]:4}")
    if $list; then
      [ ${#files[@]} -gt 0 ] || printf '%-34s %s, %s\n' "$name" "$hardware" "$licence"
      printf '%-34s %s (%s bytes)\n' "" "$address" "$bytes"
    elif [ -n "$from_dir" ]; then
      if ! found=$(find_in "$from_dir" "$bytes" "$sha256"); then
        echo "get_public_traces.sh: $from_dir: no file in it is $name ($file, $bytes bytes, SHA-256 $sha256)" >&2
        exit 2
      fi
      file=$found
    else
      mkdir -p "$out/originals/$name"
      file=$out/originals/$name/$file
      fetch "$address" "$file" "$sha256" || exit
    fi
    files+=("$file")
  done
  $list && continue
  mkdir -p "$out"
  echo "== $name: $hardware, $licence"
  table=("${field[@]:1:${field[0]}}")
  if [ ${#table[@]} -gt 0 ]; then
    case "${table[0]}" in
      pipedream | bcaffe | caffe-time | dnn-partitioning) converter=tools/convert_trace.py ;;
      *) converter=tools/public_tables.py ;;
    esac
    if ! python3 -I "$converter" "${table[0]}" "${files[@]}" "${table[@]:1}" > "$made" 2> "$said"; then
      cat "$said" >&2
      exit 2
    fi
    note+=$(sed 's/^note: /; /' "$said" | tr -d '\n')
    files=("$made")
  fi
  "$program" import "${files[@]}" --from "$importer" --note "$note" --out "$out/$name.json" "${field[@]:1+${field[0]}}" < /dev/null || exit
done <<< "$lines"
