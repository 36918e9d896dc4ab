#!/usr/bin/env bash
# One file of tests of the page, by node's own runner; 77 and a reason where something is missing.
set -u
cd "$(dirname "$0")" || exit 1
version=$(node --version 2>/dev/null | sed 's/^v//; s/\..*//')
((${version:-0} >= 18)) ||
  { echo "SKIPPED: the page's tests need node 18 or newer (package nodejs)"; exit 77; }
if [[ $1 == browser_* ]]; then
  for name in "${CHROMIUM:-chromium}" chromium-browser google-chrome; do
    command -v "$name" >/dev/null && export CHROMIUM=$name && break
  done
  command -v "${CHROMIUM:-chromium}" >/dev/null ||
    { echo "SKIPPED: there is no chromium (package chromium)"; exit 77; }
fi
exec node --test "$1.test.mjs"
