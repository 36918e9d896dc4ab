# Every thread has a line with its labels, the numbers follow, and a terminal obeys no byte of a
# label.
source "${BASH_SOURCE%/*}/../lib.sh"
start_target "$CROWD" --threads 6
run dump --backend ptrace -p "$target"
expect_status "$exit_ok" "dump"
expect_shown "^Process $target: .*crowd --threads 6$"
expect_shown '^  labels from /.*/crowd \('
index=0
for tid in $(true_tids); do
  # A thread on its way to sleep may still be running.
  grep -E "^Thread +$tid  (sleeping|running) +\"crowd-$index\"" "$work/stdout" >"$work/line" ||
    fail "no line for thread $tid"
  grep -Eq "thread\.0=number-$index\b" "$work/line" ||
    fail "the labels of thread $tid are wrong: $(<"$work/line")"
  # The first of equal keys counts, and an element without a key is no label.
  grep -Eq 'second of two|deleted' "$work/line" && fail "a label that is none: $(<"$work/line")"
  index=$((index + 1))
done
((index == 6)) || fail "the target has printed $index threads"
expect_shown "^Thread +$target .*\(no labels"
# The labels of all threads but the first one hold NUL, 0xff and an escape sequence.
grep -q $'\x1b' "$work/stdout" && fail "an escape sequence got through"
expect_shown '\\x00key\\xff="?value\\x00\\x1b\[31m'
expect_shown '""=""'
expect_said \
  '^7 threads = 6 labelled \+ 1 unlabelled \+ 0 unreadable; stopped for [0-9,]+ us \(median\), [0-9,]+ us at most$'
run dump -q -p "$target"
[[ ! -s $work/stderr ]] || fail "--quiet says something"
run dump --color always -p "$target"
grep -q $'\x1b\[36mthread.0\x1b\[0m=number-1' "$work/stdout" || fail "no colours"
grep -q $'\x1b\[31m' "$work/stdout" && fail "an escape sequence got through beside ours"
expect_no_files
