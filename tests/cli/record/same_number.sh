# A number is used again: processes that have had it one after the other have rows, names and labels
# of their own in one recording, and so has each program that one of them executes.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_sampling
need_ptrace
need_command jq

# Prints each name that the process has had, with the values of the label that its samples have.
lives() {
  jq -sr --argjson pid "$1" '
    (map(select(.type == "process")) | map({(.id | tostring): .}) | add) as $processes
    | (map(select(.type == "thread")) | map({(.id | tostring): .}) | add) as $threads
    | (map(select(.type == "labels"))
       | map({(.id | tostring): ((.labels | map(select(.key == "life").value)) + ["-"])[0]}) | add) as $labels
    | [.[] | select(.type == "sample" and .thread != null)
       | $threads[.thread | tostring] as $thread
       | $processes[$thread.process | tostring] as $process
       | select($process.pid == $pid)
       | [$process.comm, $labels[.labels | tostring]]
       | select(.[1] != "-")] | unique | .[] | join(" ")' "$2" | sort
}

for how in bpf:cpu ptrace:cpu bpf:wall; do
  backend=${how%:*} mode=${how#*:}
  if [[ $how == bpf:wall ]] && ! "$LABELSCOPE" record --backend bpf --mode wall -o probe.jsonl -- true 2>"$work/stderr"; then
    too_old_for_waits || fail "wall"
    continue
  fi
  run record --backend "$backend" --mode "$mode" -F 999 -o "$backend-$mode.jsonl" -o "$backend-$mode.pb.gz" \
    --summary comm --json -- "$SAME_NUMBER" 300
  [[ $status != 77 ]] || skip_test "the kernel gives no process a chosen number"
  expect_status "$exit_ok" "two processes of one number by $how"
  number=$(head -n 1 "$work/stdout")
  [[ $number =~ ^[0-9]+$ ]] || fail "$number is no number"
  seen=$(lives "$number" "$backend-$mode.jsonl")
  [[ $seen == $'first first\nsecond second\nthird third' ]] || fail "by $how process $number was: $seen"
done
# All three have computed for as long, as the program itself has measured.
for name in first second third; do
  run report bpf-cpu.jsonl --summary comm --json
  expect_status "$exit_ok" "report"
  jq -e --arg name "$name" '.time_ns as $whole | .values[] | select(.value == $name)
    | .time_ns / $whole | . > 0.30 and . < 0.37' "$work/stdout" >/dev/null ||
    fail "$name has not a third of the time"
done
