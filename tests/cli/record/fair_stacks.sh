# Stacks of waits are drawn by chance, short waits and long ones in proportion to their lengths: over
# twenty recordings the mean share of a stack is what the program's own clock says of their time,
# within four standard errors (of twenty recordings, chance alone exceeds three in 1 of 136 runs).
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
"$TWO_WAITS" >accounts &
program=$!
children+=("$program")
for i in {1..20}; do
  run record --mode offcpu -p "$program" -d 300ms -F 99 -o "part$i.jsonl"
  skip_before_waits
  expect_status "$exit_ok" "recording $i"
  "$LABELSCOPE" report "part$i.jsonl" --format folded -o "part$i.folded" 2>"$work/stderr" ||
    fail "no folded stacks: $(cat "$work/stderr")"
  seen=$(awk '/short_waits/ { some += $NF } /short_waits|long_wait/ { all += $NF }
    END { print all ? some / all : "nothing" }' "part$i.folded")
  jq -r --arg seen "$seen" 'select(.type == "header")
    | "\(.start_monotonic_ns) \(.start_monotonic_ns + .duration_ns) \($seen)"' "part$i.jsonl" >>parts
done
kill "$program"
wait "$program"
awk 'FNR == NR { time[FNR] = $1; some[FNR] = $2; all[FNR] = $2 + $3; rounds = FNR; next }
  { for (first = 1; first < rounds && time[first] < $1; ++first);
    for (last = first; last < rounds && time[last] < $2; ++last);
    truth = (some[last] - some[first]) / (all[last] - all[first])
    sum += $3 - truth; squares += ($3 - truth) ^ 2; ++parts }
  END { mean = sum / parts; error = sqrt((squares / parts - mean * mean) / (parts - 1))
        print mean, "off, with the standard error", error
        exit !(parts == 20 && error > 0 && error < 0.05 && mean ^ 2 < (4 * error) ^ 2) }' \
  accounts parts >said || fail "stacks of waits are not drawn fairly: $(cat said)"
cat said
