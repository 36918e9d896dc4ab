# A command that forks before labelscope has planned it: the child is planned all the same.
source "$SOURCE_DIR/lib.sh"
need_sampling
for _ in 1 2 3; do
  run record -F 499 -o out.jsonl --overwrite -- sh -c '(i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done) & wait'
  expect_status "$exit_ok" "the command's own"
  late=$(sed -n 's/.*the library was not relocated yet: \([0-9,]*\).*/\1/p' "$work/stderr" | tr -d ,)
  taken=$(sed -n 's/^\([0-9,]*\) samples by .*/\1/p' "$work/stderr" | tr -d ,)
  ((${late:-0} * 2 < taken)) || fail "of $taken samples $late are of a process that nobody planned"
done
