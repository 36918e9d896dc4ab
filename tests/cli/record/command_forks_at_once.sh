# A command forks before labelscope has planned it, and the child is planned all the same. A busy
# machine may make labelscope wait for that once, so two of three recordings are enough.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
bad=0
for _ in 1 2 3; do
  run record -F 499 -o out.jsonl --overwrite -- sh \
    -c '(i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done) & wait'
  expect_status "$exit_ok" "the command's own"
  late=$(sed -n 's/.*the program was starting or loading a library: \([0-9,]*\).*/\1/p' "$work/stderr" | tr -d ,)
  taken=$(sed -n 's/^\([0-9,]*\) samples by .*/\1/p' "$work/stderr" | tr -d ,)
  ((${late:-0} * 2 < taken)) && continue
  echo "of $taken samples $late are of a process that was not planned"
  bad=$((bad + 1))
done
((bad <= 1)) || fail "$bad of 3 recordings are half of a process that was not planned"
