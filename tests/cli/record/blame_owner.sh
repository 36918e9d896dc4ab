# --blame: a thread that waits for a lock does so because of the one that holds it, with the labels
# that this one has when the wait begins, whatever labels whoever wakes it has.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
mkfifo orders
"$LOCK_OWNERS" <orders >said &
program=$!
children+=("$program")
exec {orders}>orders
wait_until "the program has begun" grep -q '^ready' said
read -r _ _ child <said
children+=("$child")
# Some of its waits imitate locks. The kernel's verifier, and not this test, shows that programs read
# such memory without harm.
start record --mode offcpu -F 199 -p "$program" -p "$child" -o owner.jsonl --blame tenant
begun() { grep -q '^Recording' "$work/stderr" || is_gone "$recorder"; }
wait_until "the recording has begun" begun
# Nobody has seen how the waits began in which the recording begins, so each thread waits some hundred
# times more, however long that takes. The first one only waits for its orders.
slowness=$((${LABELSCOPE_EMULATED:-0} ? 4 : 1))
fewest_waits() {
  local task fewest='' count
  for task in /proc/"$program"/task/*; do
    [[ ${task##*/} != "$program" ]] || continue
    count=$(status_line "$task/status" voluntary_ctxt_switches)
    [[ -n $fewest ]] && ((fewest <= count)) || fewest=$count
  done
  echo "${fewest:-0}"
}
waits_before=$(fewest_waits)
have_waited() { is_gone "$recorder" || (($(fewest_waits) >= waits_before + 600)); }
wait_until "each thread has waited some hundred times" have_waited
kill -INT "$recorder" 2>/dev/null || true
finish
if too_old_for_waits; then
  expect_status 1 "a kernel that is too old"
  skip_before_waits
fi
expect_status "$exit_ok" "a recording of owners"
expect_ledger owner.jsonl
expect_shown '^\([0-9.]+ .?s because of threads that held a lock when the wait began\)$'
is_gone "$program" && fail "the program has died"

"$LABELSCOPE" report owner.jsonl --idle show --where wait=futex --where state=waiting --blame tenant \
  --json >waits.json 2>"$work/stderr"
# What part of the time that WAITER has waited in a futex is blamed on BY, by the way HOW?
part_of() {
  jq --arg waiter "$1" --arg by "$2" --arg how "$3" '.values | map(select(.value == $waiter))
    | .[0].because_of | map(select(.by != "still-waiting")) | (map(select(.value == $by)
        | if $how == "owner" then .owner_ns // 0 else .time_ns - (.owner_ns // 0) end) | add // 0)
      / (map(.time_ns) | add)' waits.json
}
expect_blame() {
  local part
  part=$(part_of "$@")
  printf 'FACT: blame/%s:%s %s\n' "$1" "$2" "$part"
  jq -ne --argjson part "${part:-0}" '$part >= 0.95 and $part <= 1' >/dev/null ||
    fail "only $part of the time of $1 is blamed on $2 as the $3: $(cat waits.json)"
}
for name in normal busy timed recursive errorcheck adaptive robust inherit rw-read rw-write; do
  expect_blame "$name-waiter" "$name-owner" owner
done
# They are woken by one another.
for waiter in turn-2 turn-3 turn-4; do expect_blame "$waiter" turn-1 owner; done
# The owner is in another process, or there is none.
expect_blame shared-waiter shared-late waker
for name in condition until semaphore imitation; do
  expect_blame "$name-sleeper" "$name-waker" waker
done
jq -e '[.values[].because_of[] | select(.value == "innocent")] == []' waits.json >/dev/null ||
  fail "a thread that holds no lock is blamed: $(cat waits.json)"
jq -se 'map(select(.type == "ledger"))[0].counters | map({key: .name, value: .count}) | from_entries
  | .["blame-owners"] > 100 and .["blame-owners-elsewhere"] > 100
    and (.["blame-owners-unread"] // 0) < .["blame-owners"] / 20' owner.jsonl >/dev/null ||
  fail "the ledger does not say how owners were found: $(grep '"ledger"' owner.jsonl)"

# Each row adds up to what the label has waited.
"$LABELSCOPE" report owner.jsonl --idle show --blame tenant --summary tenant --json >both.json \
  2>"$work/stderr"
jq -se '(.[0].values | map({key: .value, value: .time_ns}) | from_entries) as $waited
  | .[1] as $blame
  | ($blame.values | length) > 30
    and all($blame.values[]; (.because_of | map(.time_ns) | add) == .time_ns
                             and (.time_ns / $waited[.value] - 1 | fabs) < 0.01)
    and ($blame.values + [$blame.without, $blame.unreadable] | map(.time_ns) | add) == $blame.time_ns
    and ($blame.time_ns / .[0].time_ns - 1 | fabs) < 0.01' both.json >/dev/null ||
  fail "rows do not add up to the time of their label: $(cat both.json)"
exec {orders}>&-
wait "$program" || fail "the program has ended with $?"

# In a pid namespace of its own, a process has other numbers in its locks than labelscope knows.
mkfifo inner
unshare --pid --fork "$LOCK_OWNERS" <inner >said &
outer=$!
children+=("$outer")
exec {orders}>inner
wait_until "the program has begun" grep -q '^ready 1 ' said
program=$(pgrep -P "$outer")
run record --mode offcpu -p "$program" -d "$((slowness * 1500))ms" -o owner.jsonl --overwrite --blame tenant
expect_status "$exit_ok" "a recording of owners in a namespace"
"$LABELSCOPE" report owner.jsonl --where wait=futex --where state=waiting --blame tenant --json \
  >waits.json 2>"$work/stderr"
for name in normal busy robust inherit rw-read; do
  expect_blame "$name-waiter" "$name-owner" owner
done
exec {orders}>&-
