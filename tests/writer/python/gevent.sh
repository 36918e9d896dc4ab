#!/usr/bin/env bash
# gevent.sh <libcustomlabels.so> <folder of the module> <its flags>: runs the test with gevent 26.9.0 of PyPI.
set -eu
source "${BASH_SOURCE[0]%/*}/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || skip_test "python3 cannot make an environment (Debian package python3-venv)"
timeout 200 "$work/venv/bin/pip" install --quiet --only-binary :all: gevent==26.9.0 >"$work/install" 2>&1 || {
  cat "$work/install"
  skip_test "PyPI has not given gevent 26.9.0 for $(python3 --version)"
}
"$work/venv/bin/python" "$here/gevent_test.py"
