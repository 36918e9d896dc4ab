# The main job on a real process: the demo service's split by tenant and route. The summary, and
# `-top -tagroot` and `-tags` of go tool pprof, show it within 5 points of the CPU time that the
# service measured itself.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command go
need_command jq

"$DEMO_SERVICE" --seconds 300 >"$work/service" &
target=$!
children+=("$target")
is_ready() { grep -q '^ready' "$work/service"; }
wait_until "the demo service is ready" is_ready

# Shares converge with the number of samples. In 7 s of the service's own time at 199 Hz there are
# 1,400, for which 5 points are almost four times the standard deviation of a share of 60 %.
record_for 700 -F 199 -p "$target" -o demo.pb.gz --summary tenant,http.route
expect_status "$exit_ok" "recording the demo service"
expect_pprof demo.pb.gz
kill -TERM "$target"
wait "$target" || fail "the demo service ended with status $?"
tail -n 1 "$work/service" >"$work/truth"

# truth <key> <value>: prints its percentage of the service's CPU time.
truth() { jq -r --arg key "$1" --arg value "$2" '100 * .labels[$key][$value] / .cpu_ns' "$work/truth"; }

# expect_near <where> <key> <value> <percentage, as seen>: compares it with the truth.
expect_near() {
  awk -v seen="${4:-missing}" -v own="$(truth "$2" "$3")" \
    'BEGIN { exit !(seen ~ /^[0-9.]+$/ && seen - own <= 5 && own - seen <= 5) }' ||
    fail "$1 has $2=$3 at ${4:-nothing} %; the service says $(truth "$2" "$3") %"
}

in_summary() { awk -v key="$1" -v value="$2" '/ share / { title = $1 } title == key && $1 == value { print $2 + 0 }' \
  "$work/stdout"; }
in_top() { awk -v value="$1" '$6 == value { print $5 + 0 }' "$work/top"; }
# pprof computes a key's shares from the samples that have it, without the others.
in_tags() { awk -v key="$1:" -v value="$2" '$2 == "Total" { title = $1 }
  title == key && $NF == value && match($0, /\([0-9. ]+%\)/) { print substr($0, RSTART + 1, RLENGTH - 3) + 0 }' \
  "$work/tags"; }

pprof -tags demo.pb.gz >"$work/tags" || fail "go tool pprof -tags failed"
for key in tenant http.route; do
  pprof -top -tagroot="$key" demo.pb.gz >"$work/top" ||
    fail "go tool pprof -top -tagroot=$key failed"
  values=$(jq -r --arg key "$key" '.labels[$key] | keys[]' "$work/truth")
  [[ -n $values ]] || fail "the service printed nothing about $key"
  for value in $values; do
    expect_near "the summary" "$key" "$value" "$(in_summary "$key" "$value")"
    expect_near "-tagroot" "$key" "$value" "$(in_top "$value")"
    expect_near "-tags" "$key" "$value" "$(in_tags "$key" "$value")"
  done
done
# Every label is listed, including the added ones.
for key in tenant http.route pid thread_id thread_name comm; do
  grep -Eq "^ *$key: Total " "$work/tags" || fail "-tags does not list $key"
done
exit 0
