# labelscope is killed by SIGKILL, again and again, at any moment of a dump. No thread of the target
# stays stopped or traced, and each of them works on.
source "${BASH_SOURCE%/*}/../lib.sh"
start_target "$CROWD" --threads 8 --stay work --counters "$work/counters"
counters() { od -An -v -t u8 -w8 -N 64 "$work/counters"; }
# Succeeds if every one of the eight counts is larger than before.
all_have_grown() {
  paste <(echo "$before") <(counters) | awk '$2 <= $1 { stuck = 1 } END { exit stuck }'
}
none_is_held() {
  ! grep -Eq '^State:[[:space:]]*[tT]|^TracerPid:[[:space:]]*[1-9]' /proc/"$target"/task/*/status
}
# This is the time of one dump in microseconds, the middle of three. The kills are spread over a
# little more.
times=()
for _ in 1 2 3; do
  start_time=${EPOCHREALTIME/[.,]/}
  run dump --stacks -p "$target"
  expect_status "$exit_ok" "dump"
  times+=($((${EPOCHREALTIME/[.,]/} - start_time)))
done
whole=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 2p)
ended_first=0
turns=$(rounds 20 200)
for ((round = 0; round < turns; round++)); do
  "$LABELSCOPE" dump --stacks -p "$target" >/dev/null 2>&1 </dev/null &
  dumper=$!
  pause_us $((whole * (round * 37 % turns) * 5 / (turns * 4)))
  kill -KILL "$dumper" 2>/dev/null || ended_first=$((ended_first + 1))
  wait "$dumper" 2>/dev/null
  is_gone "$target" && fail "the target died in round $round"
  wait_until "no thread is held (round $round)" none_is_held
done
before=$(counters)
wait_until "every thread works on" all_have_grown
printf 'of %s dumps %s had ended before they were killed\n' "$turns" "$ended_first"
((ended_first * 4 < turns * 3)) || fail "hardly any dump was killed"
