#!/usr/bin/env bash
# Prints the verdicts of guests as scripts/test.sh counts them: "passed", "failed" or "skipped",
# tab, "vm/GUEST: name", tab, reason. "unsteady" is a test that passed when it ran once more
# (again.sh).
#
#  tests/vm/results.sh GUEST...
#
# A guest without a report has failed. A skip that expected_skips.txt does not know is marked as
# such. With LABELSCOPE_CI=1 it is a failure; otherwise tests that cannot run today might never run
# again, unnoticed.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

patterns=()
while IFS= read -r line; do
  [[ -z $line || $line == '#'* ]] || patterns+=("${line%%  *}")
done <"$vm_dir/expected_skips.txt"

# is_expected <GUEST: name: reason>: succeeds if the file knows this skip.
is_expected() {
  local pattern
  for pattern in "${patterns[@]}"; do
    # shellcheck disable=SC2053  # it is a pattern
    [[ $1 == $pattern ]] && return
  done
  return 1
}

for guest in "$@"; do
  report=$vm_build/reports/$guest.tsv
  if [[ ! -s $report ]]; then
    printf 'failed\tvm/%s: guest\tit left no report\n' "$guest"
    continue
  fi
  while IFS=$'\t' read -r verdict name _ reason; do
    [[ $verdict != fact ]] || continue
    if [[ $verdict == passed ]] &&
      grep -qxF -- "--- $guest: $name" "$vm_build/reports/$guest.unsteady" 2>/dev/null; then
      verdict=unsteady
    fi
    if [[ $verdict == skipped ]] && ! is_expected "$guest: $name: $reason"; then
      reason="${reason:-no reason given} (not in tests/vm/expected_skips.txt)"
      [[ ${LABELSCOPE_CI:-} != 1 ]] || verdict=failed
    fi
    printf '%s\tvm/%s: %s\t%s\n' "$verdict" "$guest" "$name" "$reason"
  done <"$report"
done
