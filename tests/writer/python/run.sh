#!/usr/bin/env bash
# run.sh <libcustomlabels.so> <folder of the module> <its flags>: runs the tests of the Python module.
set -eu
source "${BASH_SOURCE[0]%/*}/prepare.sh"
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
for each in labels interrupted kept_sets overlapping; do python3 -W error::DeprecationWarning "$here/${each}_test.py"; done
