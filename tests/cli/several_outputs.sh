# -o several times: one recording in every format, told by the extension; all hold the same number of samples.
source "$SOURCE_DIR/lib.sh"
need_sampling
need_command go
need_command jq
start_busy_target
run record -d 2 -p "$target" -o a.pb.gz -o b.folded -o c.jsonl
expect_status "$exit_ok" "three outputs"
expect_pprof a.pb.gz
jq -e . c.jsonl >/dev/null || fail "c.jsonl is not JSON line by line"
folded=$(awk '{ n += $NF } END { print n + 0 }' b.folded)
pprof -sample_index=samples -top a.pb.gz >"$work/top" || fail "go tool pprof does not accept a.pb.gz"
in_pprof=$(sed -n 's/.* of \([0-9]*\) total.*/\1/p' "$work/top")
((folded > 0)) || fail "b.folded has no sample"
[[ $folded == "$in_pprof" ]] || fail "b.folded has $folded samples, a.pb.gz $in_pprof"
# One file by two names is found out before anything is recorded.
run record -o same.folded -o ./same.folded -- true
expect_status "$exit_usage" "the same file twice"
expect_said "same file twice"
[[ ! -e same.folded ]] || fail "a refused recording left same.folded"
