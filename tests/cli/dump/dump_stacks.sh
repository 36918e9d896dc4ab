# Stacks with names: each worker rests where it serves, and the first thread waits.
source "${BASH_SOURCE%/*}/../lib.sh"
start_target "$CROWD" --threads 3
# Stacks must be whole on a slow machine, too.
run dump --stacks --max-stop 20s -p "$target"
expect_status "$exit_ok" "dump --stacks"
for tid in $(true_tids); do
  sed -n "/^Thread $tid /,/^Thread/p" "$work/stdout" >"$work/stack"
  grep -q '^    .*pause' "$work/stack" || fail "thread $tid is not in pause(): $(<"$work/stack")"
  grep -Eq '^    run_worker \(crowd\.c:[0-9]+\)$' "$work/stack" ||
    fail "no run_worker() in thread $tid: $(<"$work/stack")"
done
expect_shown '^    main \(crowd\.c:[0-9]+\)$'
run dump --stacks --max-stop 0.001ms -p "$target"
expect_status "$exit_ok" "--max-stop 0.001ms"
expect_shown 'the stack ends here: .*'
