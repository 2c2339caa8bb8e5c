#!/usr/bin/env bash
# Run Python with matplotlib: the first python3 on this machine that can import it.
#
#   tools/python.sh SCRIPT [ARGUMENT…]
#
# Several Pythons may be installed, and the first in PATH need not be the one that the distribution's
# python3-matplotlib belongs to. PYTHON=/path/to/python3 is tried before all others.

case "${1-}" in
  '' | -h | --help)
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
    exit 0 ;;
esac

while IFS= read -r python; do
  if [ -n "$python" ] && "$python" -c 'import matplotlib' 2> /dev/null; then
    exec "$python" "$@"
  fi
done <<< "${PYTHON-}
$(type -ap python3)
/usr/bin/python3"

echo "python.sh: no python3 can import matplotlib (install python3-matplotlib, e.g. with tools/setup.sh)" >&2
exit 1
