#!/usr/bin/env bash
# Run Python with a module: the first python3 on this machine that can import it.
#
#   tools/python.sh --with MODULE SCRIPT [ARGUMENT…]
#
# Several Pythons may be installed, and the first in PATH need not be the one that the distribution's packages, or
# PyTorch, belong to. PYTHON=/path/to/python3 is tried before all others.

module=
if [ "${1-}" = --with ]; then
  module=${2-}
  shift 2
fi

case "${1-}" in
  '' | -h | --help)
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
    exit 0 ;;
esac

if ! [[ "$module" =~ ^[A-Za-z_][A-Za-z0-9_.]*$ ]]; then
  echo "python.sh: '$module' is no module's name (see --help)" >&2
  exit 2
fi

# With -c, Python would first look for modules in the working directory, and run files of their names.
elsewhere='import sys
sys.path[:] = [folder for folder in sys.path if folder.startswith("/")]
'
check="${elsewhere}import $module"
[ "${1-}" = -c ] && set -- -c "$elsewhere${2-}" "${@:3}"

while IFS= read -r python; do
  if [ -n "$python" ] && "$python" -c "$check" 2> /dev/null; then
    exec "$python" "$@"
  fi
done <<< "${PYTHON-}
$(type -ap python3)
/usr/bin/python3"

echo "python.sh: no python3 can import $module (install python3-$module; tools/setup.sh --help says how)" >&2
exit 1
