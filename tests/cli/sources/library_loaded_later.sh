# A library is loaded during the recording: its labels are read from then on, without any action of
# the user.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
mkfifo "$work/orders"
"$LATE_LOADER" "$WRITER_LIBRARY" <"$work/orders" >"$work/said" 2>&1 &
target=$!
children+=("$target")
exec 4>"$work/orders"
has_said() { grep -q "$1" "$work/said"; }
wait_until "the target is ready" has_said ready
start record -p "$target" -o out.jsonl -o out.pb.gz
wait_for_samples
echo go >&4
wait_until "the target has loaded the library" has_said labelled
wait_for_samples
kill -INT "$recorder"
finish
expect_status "$exit_ok" "a target that loads a library"
expect_pprof out.pb.gz
expect_said "^  $target .*labels from .*libcustomlabels"
# There is half a second of CPU time on either side of the event, at 99 Hz.
labelled=$(grep -Eo '[0-9,]+ labelled' "$work/stderr" | tail -1 | tr -dc '0-9')
unlabelled=$(grep -Eo '[0-9,]+ unlabelled' "$work/stderr" | tail -1 | tr -dc '0-9')
((labelled >= 20)) || fail "only $labelled labelled samples after the library was loaded"
((unlabelled >= 20)) || fail "only $unlabelled unlabelled samples before"
grep -q '"phase"' out.jsonl && grep -q '"late"' out.jsonl ||
  fail "the label is not in the recording"
exec 4>&-
