#!/usr/bin/env bash
# Fetch published profiles of real GPUs, check them, and import them as traces.
#
#   tools/get_public_traces.sh [--only NAME]... [--from-dir DIR] [--out DIR]
#   tools/get_public_traces.sh --list
#
#   --list          what there is: name, hardware, licence, address
#   --only NAME     this one only; any number of times
#   --from-dir DIR  fetch nothing: take the files from DIR and the folders in it, where they may have any names
#   --out DIR       where the traces go (out/public_traces); what was fetched is kept in DIR/originals
#
# traces/public.json says where each file stands, and its SHA-256. What was cut off goes on, or starts again; nothing
# half-fetched or unchecked is ever imported. Then:
#
#   allreplay compare --profile out/public_traces/resnet50_v100_b32_kineto.json --cluster v100-10gbe

source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

manifest=traces/public.json
only=() from_dir="" out=out/public_traces list=false

# The user's paths start where the user is.
absolute() { case "$1" in /*) printf '%s' "$1" ;; *) printf '%s/%s' "$OLDPWD" "$1" ;; esac; }

while [ $# -gt 0 ]; do
  case "$1" in
    --list) list=true; shift; continue ;;
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

# The manifest's entries as lines of fields, each ended by a unit separator (0x1F), which no field holds: name, address, SHA-256, bytes,
# importer, hardware, licence, file, options…
entries() {
  python3 -I - "$manifest" "${only[@]}" << 'PYTHON'
import json, re, sys
traces = json.load(open(sys.argv[1], encoding="utf-8"))["traces"]
names = [trace["name"] for trace in traces]
for trace in traces:  # names become files, and addresses are fetched: nothing else than this script's own
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", trace["name"]) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", trace["path"].rsplit("/", 1)[-1]):
        sys.exit(f"get_public_traces.sh: {sys.argv[1]}: {trace['name']!r} or {trace['path']!r} is no name of a file (letters, digits, _ . -)")
    if not trace["repository"].startswith("https://"):
        sys.exit(f"get_public_traces.sh: {sys.argv[1]}: {trace['repository']!r} is no https:// address")
for name in sys.argv[2:]:
    if name not in names:
        sys.exit(f"get_public_traces.sh: no trace '{name}' (there are: {' '.join(names)})")
for trace in traces:
    if len(sys.argv) == 2 or trace["name"] in sys.argv[2:]:
        address = f"{trace['repository'].replace('github.com', 'raw.githubusercontent.com')}/{trace['commit']}/{trace['path']}"
        print(*(trace[key] if key in trace else value for key, value in
                [("name", 0), ("", address), ("sha256", 0), ("bytes", 0), ("importer", 0), ("hardware", 0), ("licence", 0)]),
              trace["path"].rsplit("/", 1)[-1], *trace["options"], sep="\x1f", end="\x1f\n")
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

while IFS=$'\x1f' read -r -d $'\n' line; do
  IFS=$'\x1f' read -r -a field <<< "$line"
  name=${field[0]} address=${field[1]} sha256=${field[2]} bytes=${field[3]} importer=${field[4]}
  if $list; then
    printf '%-34s %s, %s, %s bytes\n%-34s %s\n' "$name" "${field[5]}" "${field[6]}" "$bytes" "" "$address"
    continue
  fi
  if [ -n "$from_dir" ]; then
    if ! file=$(find_in "$from_dir" "$bytes" "$sha256"); then
      echo "get_public_traces.sh: $from_dir: no file in it is $name (${field[7]}, $bytes bytes, SHA-256 $sha256)" >&2
      exit 2
    fi
  else
    mkdir -p "$out/originals/$name"
    file=$out/originals/$name/${field[7]}
    fetch "$address" "$file" "$sha256" || exit
  fi
  mkdir -p "$out"
  echo "== $name: ${field[5]}, ${field[6]}"
  "$program" import "$file" --from "$importer" --out "$out/$name.json" "${field[@]:8}" < /dev/null || exit
done <<< "$lines"
