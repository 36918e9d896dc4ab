# Programs that have a server's symbols and are none: record and dump end in time and with a named
# outcome whatever is in their memory, what they write is well-formed, and a sound server that is
# recorded beside them has its own labels. Symbols that lead nowhere are refused, or not read.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
presets=$SOURCE_DIR/../../reader/presets

# start_server <name>: starts a program of tests/targets/servers. Its pid is in $target.
start_server() { start_target "$PRESET_SERVERS/$1" --burn; }
count_ready() { grep -csx ready "$work/truth"; }
answered() { (($(count_ready) > $1)); }
# say <line>: lets it do what the line says.
say() {
  local before
  before=$(count_ready)
  echo "$1" >&8
  wait_until "the program has done: $1" answered "$before"
}

# The sound one has a channel of its own.
mkfifo "$work/sound_in"
"$PRESET_SERVERS/redis-7.0" --burn <"$work/sound_in" >"$work/sound" &
sound=$!
children+=("$sound")
exec 7>"$work/sound_in"
wait_until "the sound server is ready" grep -qsx ready "$work/sound"

# expect_sound <recording.jsonl>: all samples of its first thread have its labels.
expect_sound() {
  jq -se --argjson pid "$sound" 'def of(what): map(select(.type == what));
    ([of("labels")[] | {key: (.id | tostring), value: ([.labels[] | "\(.key)=\(.value)"] | join(" "))}] | from_entries) as $sets
    | ([of("thread")[] | select(.tid == $pid) | .id]) as $threads
    | [of("sample")[] | select(.thread as $one | $threads | index($one)) | $sets[.labels | tostring]]
    | length > 5 and all(. == "client=queue command=get db=3 user=ada")' "$1" >/dev/null ||
    fail "the sound server has other labels: $(jq -c 'select(.type == "labels")' "$1")"
}

for program in postgres-15 php-fpm mariadb haproxy; do
  preset=${program%-15}
  start_server "$program"
  for fill in 'without an end 8' 'itself 8' 'impossible 8' 'random 3' 'random 8'; do
    say "fill $fill"
    run dump --json -p "$target" --preset "$presets/$preset.preset" --explain
    expect_status "$exit_ok" "dump of $program, $fill"
    jq -e . "$work/stdout" >/dev/null || fail "$program, $fill: no JSON"
  done
  if (need_sampling >/dev/null); then
    record_for 30 -p "$target,$sound" -F 499 --preset "$presets/$preset.preset" --preset "$presets/redis.preset" \
      -o "$work/$program.jsonl"
    expect_status "$exit_ok" "record of $program"
    expect_ledger "$work/$program.jsonl"
    expect_sound "$work/$program.jsonl"
  fi
  stop_target
done

# --- symbols that lead nowhere
start_server mariadb-loop
run dump -p "$target" --preset "$presets/mariadb.preset"
expect_status "$exit_error" "accessors that jump to themselves"
expect_said '_current_thd\(\) is no accessor: it continues in another function'
stop_target
start_server mariadb-outside
run dump -p "$target" --preset "$presets/mariadb.preset"
expect_said '_current_thd\(\) is no accessor: its code ends too early'
stop_target
start_server redis-empty
run dump -p "$target" --preset "$presets/redis.preset"
expect_said 'server has 0 bytes, and known are 3584'
stop_target
