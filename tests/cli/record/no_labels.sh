# A target that sets no labels gives a profile all the same, a line that says so, and everything
# that works without labels.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
run record -d 1 -p "$target" -o out.pb.gz -o out.jsonl
expect_status "$exit_ok" "a target without labels"
expect_pprof out.pb.gz
expect_said '^no labels in [0-9,]+ samples?$'
expect_said "^  $target \\(bash\\): the program sets no labels that labelscope knows \\([0-9]+ loaded files looked at\\); labelscope dump --explain"
expect_said '^  What works all the same: --summary thread_name, thread_id, comm, pid or function; and --process-label, '
# Without stacks nobody knows the function.
run record -d 1 -p "$target" --call-graph none -o none.folded
expect_said '^  What works all the same: --summary thread_name, thread_id, comm or pid; and '
run record -d 1 -p "$target" --call-graph none --summary function -o none.folded --overwrite
expect_status "$exit_usage" "functions without stacks"
expect_said 'call-graph none takes no stacks'
run record -d 1 -p "$target" -o out.pb.gz --overwrite
# Words for authors of libraries are left to --explain.
! grep -Eq 'TLSDESC|relocated|publish|context_tls' "$work/stderr" || fail "the words of --explain"
run dump --explain -p "$target"
expect_shown 'what labels can come from: ABI v1, '

# The advice works.
run report out.jsonl --summary thread_name,thread_id,comm,pid,function
expect_status "$exit_ok" "the keys that there always are"
for key in thread_name thread_id comm pid function; do
  expect_shown "^$key +share"
done
expect_shown '^bash +100\.0%'
expect_shown "^$target +100\\.0%"
! grep -q 'no sample has' "$work/stderr" || fail "a key that every sample has is said to be missing"
run report out.jsonl --where comm=bash --summary function --json
expect_shown '"key":"function"'
run record --help
tr -s ' \n' ' ' <"$work/stdout" | grep -q 'there are always thread_name, thread_id, comm and pid, and with stacks function' ||
  fail "--help does not list the keys that there always are"
run record -d 1 -p "$target" -o labelled.folded --process-label command
expect_status "$exit_ok" "a label of the process"
! grep -q 'What works all the same' "$work/stderr" || fail "advice where there are labels"
