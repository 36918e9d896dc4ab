# Children that exist when the recording begins, and their children, belong to the target with
# either backend, and the announcement has their number. --no-children leaves them out.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_sampling
need_ptrace
need_command jq
loop='while :; do :; done'
# The target waits. A child of it computes, and so does a child of another child.
export work loop
bash -c 'bash -c "$loop" child & echo $! >"$work/first"
  bash -c "bash -c \"\$loop\" grandchild & echo \$! >\"\$work/second\"; wait" between & wait' target </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
are_there() { [[ -s $work/first && -s $work/second ]]; }
wait_until "the children are there" are_there
first=$(<"$work/first")
second=$(<"$work/second")
children+=("$first" "$second" $(pgrep -P "$target"))
wait_until "the children compute" has_run_until "$first" 1
wait_until "the grandchild computes" has_run_until "$second" 1
for backend in bpf ptrace; do
  start record --backend "$backend" -p "$target" -o "$backend.jsonl"
  wait_until "labelscope records" has_begun_or_ended
  for pid in "$first" "$second"; do
    wait_until "$pid computes" has_run_until "$pid" $(($(cpu_ticks "$pid") + 50))
  done
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "children that exist, by $backend"
  expect_said "recording $target .*and its 3 child processes"
  expect_ledger "$backend.jsonl"
  for pid in "$first" "$second"; do
    jq -se --argjson pid "$pid" '(map(select(.type == "thread" and .pid == $pid) | .id)) as $threads
      | [.[] | select(.type == "sample" and (.thread as $t | $threads | index($t)))] | length >= 20' \
      "$backend.jsonl" >/dev/null || fail "less than 20 samples of $pid by $backend"
  done
  run record --backend "$backend" -d 1 -p "$target" --no-children -o "$backend-alone.jsonl"
  expect_status "$exit_no_sample" "--no-children by $backend: the target itself waits"
  expect_said 'recording'
  ! grep -q 'child process' "$work/stderr" || fail "--no-children has children"
done
