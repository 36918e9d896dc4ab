# With several -o, one recording is written in every format, chosen by the extension. All have the
# same samples and the same time.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command go
need_command jq
start_busy_target
run record -d 2 -p "$target" -o a.pb.gz -o b.folded -o c.jsonl
expect_status "$exit_ok" "three outputs"
expect_pprof a.pb.gz
jq -e . c.jsonl >/dev/null || fail "c.jsonl is not JSON line by line"
folded=$(awk '{ n += $NF } END { print n + 0 }' b.folded)
pprof -sample_index=samples -top a.pb.gz >"$work/top" ||
  fail "go tool pprof does not accept a.pb.gz"
in_pprof=$(sed -n 's/.* of \([0-9]*\) total.*/\1/p' "$work/top")
lossless=$(jq -s 'map(select(.type == "sample").count) | add' c.jsonl)
[[ $lossless == "$in_pprof" ]] || fail "c.jsonl has $lossless samples, a.pb.gz $in_pprof"
weight=$(jq -s 'map(select(.type == "sample").weight_ns) | add' c.jsonl)
((folded > 0)) || fail "b.folded has no time"
[[ $folded == "$weight" ]] || fail "b.folded has $folded ns, c.jsonl $weight"
pprof -sample_index=cpu -unit=ns -top a.pb.gz >"$work/top" ||
  fail "go tool pprof does not accept a.pb.gz"
in_pprof=$(sed -n 's/.* of \([0-9]*\)ns total.*/\1/p' "$work/top")
[[ $weight == "$in_pprof" ]] || fail "c.jsonl has $weight ns, a.pb.gz $in_pprof"
# One file with two names is noticed before anything is recorded.
run record -o same.folded -o ./same.folded -- true
expect_status "$exit_usage" "the same file twice"
expect_said "same file twice"
[[ ! -e same.folded ]] || fail "a refused recording left same.folded"
