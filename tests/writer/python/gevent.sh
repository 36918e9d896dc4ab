#!/usr/bin/env bash
# gevent.sh <libcustomlabels.so> <folder of the module> <its flags>: runs the test with gevent 26.9.0 of PyPI.
set -eu
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
skip_test() { printf 'SKIPPED: %s\n' "$*"; exit 77; }
command -v python3 >/dev/null || skip_test "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip_test "$(python3 --version) is older than 3.11"
[[ $3 != *-fsanitize* ]] || skip_test "python3 cannot load a library with a sanitizer"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || skip_test "python3 cannot make an environment (Debian package python3-venv)"
timeout 200 "$work/venv/bin/pip" install --quiet --only-binary :all: gevent==26.9.0 >"$work/install" 2>&1 || {
  cat "$work/install"
  skip_test "PyPI has not given gevent 26.9.0 for $(python3 --version)"
}
export CUSTOMLABELS_LIBRARY=$1 PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1
"$work/venv/bin/python" "$here/gevent_test.py"
