#!/usr/bin/env bash
# Boots guests with failed tests once more, and runs those tests alone. A test that then passes is
# unsteady, and no failure.
#
#  tests/vm/again.sh GUEST...
#
# It changes the reports of run.sh: a test that passes now has passed, and GUEST.unsteady has its
# name after "--- " and what was printed both times. A guest that did not come to its end runs all
# of its tests again.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

readonly reports=$vm_build/reports
# More failures than this are no accident.
readonly most_again=20

# said <log> <test>: prints the guest's output of one test.
said() {
  tr -d '\r' <"$1" | awk -v name="$2" '
    $2 == "start" { begun = $0; sub(/^@[0-9]+ start /, "", begun); if (begun == name) number = $1 }
    number != "" && $1 == number'
}

again() {
  local guest=$1 report=$reports/$1.tsv log=$reports/$1.log name pattern='' how=()
  local failed
  mapfile -t failed < <(awk -F '\t' '$1 == "failed" { print $2 }' "$report")
  ((${#failed[@]} > 0 && ${#failed[@]} <= most_again)) || return 0
  if ! printf '%s\n' "${failed[@]}" | grep -qx guest; then
    # shellcheck disable=SC2016  # a pattern
    pattern=$(printf '%s\n' "${failed[@]}" | sed 's/[][\.*^$()+?{}|]/\\&/g' | paste -sd '|')
    how=(--tests "^($pattern)"$'\t')
  fi
  cp "$report" "$report.first"
  cp "$log" "$log.first"
  bash "$vm_dir/run.sh" ${how[@]+"${how[@]}"} "$guest" || true
  cp "$report" "$report.second"
  for name in "${failed[@]}"; do
    awk -F '\t' -v name="$name" '$1 == "passed" && $2 == name { found = 1 } END { exit !found }' \
      "$report.second" || continue
    { echo "--- $guest: $name"; said "$log.first" "$name"; said "$log" "$name"; } \
      >>"$reports/$guest.unsteady"
  done
  if [[ -n $pattern ]]; then
    # The new report is the first one with the tests that passed in the second run, and with the
    # second run's errors of the guest as a whole.
    awk -F '\t' \
      'NR == FNR { if ($1 == "passed") line[$2] = $0; next } { print $2 in line ? line[$2] : $0 }' \
      "$report.second" "$report.first" >"$report"
    awk -F '\t' '$1 == "failed" && $2 == "guest"' "$report.second" >>"$report"
  elif ! grep -q '^failed' "$report.second"; then
    { echo "--- $guest: guest"; grep '^failed' "$report.first"; } >>"$reports/$guest.unsteady"
    printf 'passed\tguest\t0\t\n' >>"$report"
  fi
}

for guest in "$@"; do
  [[ -s $reports/$guest.tsv ]] || continue
  again "$guest"
done
