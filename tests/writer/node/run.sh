#!/usr/bin/env bash
# run.sh <folder of the modules> <its flags>: runs the tests of the module for Node.js.
set -eu
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
skip_test() { printf 'SKIPPED: %s\n' "$*"; exit 77; }
command -v node >/dev/null || skip_test "node is not installed"
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' || skip_test "node $(node --version) is older than 18"
[[ -n $1 ]] || skip_test "the module was not built: there is no node_api.h (Debian package libnode-dev)"
[[ $2 != *-fsanitize* ]] || skip_test "node cannot load an addon with a sanitizer"
NODE_PATH=$1 node --expose-gc --test-reporter=spec "$here/labels_test.js"
