#!/usr/bin/env bash
# This makes the picture at the top of README.md: it records the demo service (demo.sh) and takes a
# picture of the page in a headless Chromium.
#
#   scripts/screenshot.sh [PAGE.html]     with an existing page instead of the demo's
#
# It needs node and chromium, and writes docs/page.png.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

case ${1:-} in
  -h | --help) usage; exit 0 ;;
esac
for program in node chromium; do
  command -v "$program" >/dev/null || die "$program is missing: apt-get install nodejs chromium"
done
page=${1:-}
if [[ -z $page ]]; then
  # The last line of the demo is the page's path.
  page=$(bash "$root_dir/scripts/demo.sh" 2>&1 >/dev/null | tee /dev/stderr | tail -n 1)
  page=${page#"${page%%[![:space:]]*}"}
fi
[[ -f $page ]] || die "there is no page $page"

# The picture is grouped by tenant and coloured by route, which no other viewer shows.
readonly fragment='#groups=%5B%22tenant%22%5D&color=http.route'
node "$root_dir/tests/page/screenshot.mjs" "$page" "$root_dir/docs/page.png" "$fragment" 1280 720
say "Wrote docs/page.png ($(($(stat -c %s "$root_dir/docs/page.png") / 1024)) KiB)"
