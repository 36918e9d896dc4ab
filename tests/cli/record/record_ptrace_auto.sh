# With --backend auto, ptrace is used if BPF is refused, and the reason is reported. If both are
# refused, one message names what is missing.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
((EUID == 0)) || skip_test "only root has capabilities to drop"
need_command setpriv
need_command jq
start_busy_target
without_bpf=(setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-all)
"${without_bpf[@]}" true || skip_test "setpriv cannot drop capabilities here"

"${without_bpf[@]}" timeout --signal=KILL 90 "$LABELSCOPE" record -p "$target" -d 2s -o auto.jsonl \
  >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
expect_status "$exit_ok" "auto without BPF"
expect_said 'warning: BPF cannot be had \(permission is missing: CAP_BPF, CAP_PERFMON\)'
expect_said '\-\-backend ptrace'
jq -se 'map(select(.type == "header"))[0] | .backend == "ptrace"' auto.jsonl >/dev/null ||
  fail "ptrace was not taken"
expect_ledger auto.jsonl

"${without_bpf[@]}" timeout --signal=KILL 90 "$LABELSCOPE" record -p "$target" --backend bpf -d 2s \
  -o bpf.jsonl \
  >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
expect_status "$exit_permission" "bpf without BPF"
expect_said 'cap_bpf'

# Another tracer already has the target, so it cannot be stopped.
if command -v gdb >/dev/null; then
  mkfifo "$work/gdb_stdin"
  gdb -q -nx -batch -p "$target" -ex 'shell read line' <"$work/gdb_stdin" >"$work/gdb_said" 2>&1 &
  gdb=$!
  exec {gdb_stdin}>"$work/gdb_stdin"
  is_traced() { ! grep -q '^TracerPid:[[:space:]]*0' "/proc/$target/status"; }
  wait_until "gdb has attached" is_traced
  run record -p "$target" --backend ptrace -d 1s -o traced.jsonl
  expect_status "$exit_permission" "a target under gdb"
  expect_said 'traced|gdb'
  # The target could not even be killed under gdb, because a tracer receives signals first.
  exec {gdb_stdin}>&-
  wait "$gdb"
  [[ ! -e traced.jsonl ]] || fail "a file was left"
fi
exit 0
