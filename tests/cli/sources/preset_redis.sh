# CPU time of a stock redis-server by command, user and client: only what the load has planned, on
# the main thread alone, and the shares are those of INFO commandstats. In a script it is EVAL, in a
# transaction the queued command. Its program has another name: redis-check-rdb.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/servers.sh"
need_command jq
need_command redis-server
need_command redis-cli
need_command python3
as=()
mkdir "$work/server"
serve redis-server --port 0 --unixsocket "$work/server/socket" --save '' --appendonly no
redis() { redis-cli -s "$work/server/socket" "$@"; }
answers() { [[ $(redis ping 2>/dev/null) == PONG ]]; }
wait_until "the server answers" answers
need_preset redis "$(readlink -f "/proc/$target/exe")"

redis acl setuser acme on '>pw' '~*' '+@all' >/dev/null
redis eval "for i = 0, 2999 do redis.call('rpush', 'list', i * 7919 % 3000) end
  for i = 0, 1499 do redis.call('zadd', 'a', i, 'm' .. i) redis.call('zadd', 'b', i, 'm' .. i * 2) end" 0 >/dev/null
# session <line...>: a connection that sends the first lines once, and those behind -- again and again.
session() {
  local once=() again=''
  while [[ $1 != -- ]]; do once+=("$1") && shift; done
  printf -v again '%s\n' "${@:2}"
  redis-cli -s "$work/server/socket" >/dev/null 2>>"$work/clients" < <(printf '%s\n' "${once[@]}" && exec yes "${again%?}") &
  clients+=($!)
  children+=($!)
}
session 'AUTH acme pw' 'CLIENT SETNAME queue' 'SELECT 0' -- 'SORT list LIMIT 0 5'
session 'CLIENT SETNAME stats' -- 'ZINTERSTORE out 2 a b'
session 'AUTH acme pw' 'CLIENT SETNAME batch' -- MULTI 'ZUNIONSTORE all 2 a b' EXEC
# What it unlinks is freed by another thread.
session 'CLIENT SETNAME script' 'SELECT 3' -- "EVAL \"for i = 1, 1000 do redis.call('sadd', 'many', i) end redis.call('unlink', 'many')\" 0"
cat >"$work/plan" <<PLAN
{"command": "sort", "user": "acme", "client": "queue", "db": "0"}
{"command": "zinterstore", "user": "default", "client": "stats", "db": "0"}
{"command": ["multi", "zunionstore", "exec"], "user": "acme", "client": "batch", "db": "0"}
{"command": "eval", "user": "default", "client": "script", "db": "3"}
PLAN
all_run() { [[ $(redis info commandstats | grep -cE '^cmdstat_(sort|zinterstore|exec|unlink):') == 4 ]]; }
wait_until "all sessions run" all_run
hold_clients

# of_others <recording>: prints the numbers of samples of other threads, with and without labels of
# the preset.
of_others() {
  jq -s -c --argjson main "$target" '([.[] | select(.type == "thread" and .tid != $main) | .id]) as $others
    | ([.[] | select(.type == "labels" and any(.labels[]; .key == ("command", "user", "client", "db"))) | .id]) as $labelled
    | [.[] | select(.type == "sample" and (.thread as $one | $others | index($one)))]
    | [map(select(.labels as $one | $labelled | index($one))), map(select(.labels as $one | $labelled | index($one) | not))]
    | map(map(.count) | add // 0) | join(" ")' "$1" | tr -d '"'
}
# expect_recorded <backend> <mode> <rate> <argument of planned_labels.py...> <milliseconds>
expect_recorded() {
  local with without ms=${*: -1}
  set -- "${@:1:$#-1}"
  redis config resetstat >/dev/null
  record_load $((ms / 10)) -p "$target" --backend "$1" --mode "$2" -F "$3" --call-graph none --preset redis --overwrite -o "$1.$2.jsonl"
  # The commands of a script and EXEC are counted twice.
  redis info commandstats | sed -nE 's/^cmdstat_(sort|zinterstore|zunionstore|eval):calls=[0-9]+,usec=([0-9]+),.*/{"labels":{"command":"\1"},"time":\2}/p' >account
  judge "$1.$2.jsonl" --ignore state,wait "${@:4}"
  ! grep -q '"why": "only' "$work/judged" || need_more_time "$(grep '"why"' "$work/judged")"
  expect_planned "$1.$2.jsonl" --ignore state,wait "${@:4}"
  read -r with without < <(of_others "$1.$2.jsonl")
  ((with == 0 && without > 0)) || fail "of other threads $with samples have labels, and $without have none"
}
# commandstats is how long commands took, waiting for a processor included, so it is the time of
# --mode wall. By ptrace, ticks are skipped while labelscope itself waits for one. In a guest of
# tests/vm, stopping the five threads takes 25 ms and more, so ptrace has too few samples there, and
# the kernel pauses sampling: of 199 samples a second 50 to 140 come. But nobody else computes there,
# so commands take the time of --mode cpu.
ms=2000 rate=997 in_cpu_time=()
if [[ -n ${LABELSCOPE_EMULATED:-} ]]; then
  ms=8000 rate=199 in_cpu_time=(--account account --apart 0.01)
else
  with_enough_time "$ms" expect_recorded ptrace wall 499 --account account --apart 0.03
fi
if (need_sampling >/dev/null); then
  with_enough_time "$ms" expect_recorded bpf cpu "$rate" ${in_cpu_time[@]+"${in_cpu_time[@]}"}
  expect_covered command 70
  if "$LABELSCOPE" record --backend bpf --mode wall -o probe.jsonl -- true 2>"$work/stderr"; then
    with_enough_time "$ms" expect_recorded bpf wall "$rate" --account account ${in_cpu_time[@]+--apart 0.01}
  else
    expect_said 'Linux 6.18'
  fi
fi
release_clients

# --- dump has the labels of the command that runs at that moment, if one does
dump_has_labels() {
  run dump --json -p "$target" --preset redis
  expect_status "$exit_ok" "a dump"
  jq -c '.threads[] | select(.labels != []) | {tid, set: (.labels | map({(.key): .value}) | add)}' "$work/stdout" >"$work/dumped"
  [[ -s $work/dumped ]]
}
wait_until "a dump has labels" dump_has_labels
jq -se --argjson main "$target" --slurpfile plan "$work/plan" 'length == 1 and .[0].tid == $main and (.[0].set as $set
  | any($plan[]; to_entries | all($set[.key] as $has | [.value] | flatten | index($has))))' "$work/dumped" >/dev/null ||
  fail "a dump has: $(cat "$work/dumped")"

# --- other presets do not fit, and it is said why
run dump -p "$target" --preset postgres
expect_status "$exit_error" "a preset that does not fit"
expect_said 'no file of the process is the server of the preset postgres'
run record -p "$target" -d 1s --preset postgres
expect_status "$exit_error" "a preset that does not fit"
run dump -p "$target" --preset nonsense
expect_status "$exit_usage" "no such preset"
expect_said 'there is no preset nonsense; there are .*redis'

# --- another version: refused, never the nearest
sed 's/server.size == [0-9]*/server.size == 12345/' "$(dirname "$LABELSCOPE")/../share/labelscope/presets/redis.preset" >"$work/other.preset"
run dump -p "$target" --preset "$work/other.preset"
expect_status "$exit_error" "no variant fits"
expect_said 'server has [0-9]+ bytes, and known are 12345'
# --- a file that others may write steers nothing
chmod o+w "$work/other.preset"
run dump -p "$target" --preset "$work/other.preset"
expect_status "$exit_usage" "a file that others may write"
expect_said 'chmod go-w'
chmod o-w "$work/other.preset"
echo 'label x = server:u65' >>"$work/other.preset"
run dump -p "$target" --preset "$work/other.preset"
expect_said "other.preset, line $(wc -l <"$work/other.preset"): there is no such type"

# --- auto finds it
run dump --json -p "$target" --preset auto
expect_status "$exit_ok" "auto"
expect_shown '"user","value":"(acme|default)"|labels'
