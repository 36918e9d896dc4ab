# --max-stop: a stack that takes longer to unwind is cut and flagged. Labels are read all the same.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
"$DEMO_SERVICE" --seconds 300 >"$work/service" &
target=$!
children+=("$target")
wait_until "the demo service is ready" grep -q '^ready' "$work/service"
run record -p "$target" --backend ptrace --max-stop 1us --mode wall -d 2s -o cut.jsonl
expect_status "$exit_ok" "--max-stop 1us"
expect_ledger cut.jsonl
expect_said 'stacks that are cut: [0-9,]+ \(unwinding them took longer than --max-stop'
jq -se '(map(select(.type == "header"))[0].flags | index("stack-cut")) as $bit
  | map(select(.type == "sample" and .outcome == 0)) as $samples
  | ($samples | length) > 0 and all($samples[]; (.flags / pow(2; $bit) | floor % 2) == 1)' cut.jsonl >/dev/null ||
  fail "labelled samples are missing, or not flagged"
run record -p "$target" --backend ptrace --max-stop 1us -d 1s -o cut.pb.gz
expect_status "$exit_ok" "--max-stop 1us"
expect_pprof cut.pb.gz
if command -v go >/dev/null; then
  pprof -tags cut.pb.gz >"$work/tags"
  grep -q 'stack-cut' "$work/tags" || fail "pprof does not show the flag"
fi
exit 0
