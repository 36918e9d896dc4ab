#!/usr/bin/env bash
# This builds labelscope from the action's own tree and installs it into the runner's folder.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.."
scripts/install.sh --prefix "$RUNNER_TEMP/labelscope"
echo "$RUNNER_TEMP/labelscope/bin" >>"$GITHUB_PATH"
