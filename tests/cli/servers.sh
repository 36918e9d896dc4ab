# For tests of presets with real servers (sourced after lib.sh): a load that runs only while a
# recording does, so that the recording and the server's own account are of the same time.
#
#   the load       |----- held -----|------------ runs ------------|----- held ------|
#   the account       read before                                        read after
#   the recording         |-- nothing --|----------- samples ------------|-- nothing --|
#
# The functions know the server by its processes, whose IDs are in ${server[@]}.
# shellcheck shell=bash
server=() clients=()

# Sets ${as[@]}, which runs a command as a user without rights, since some servers refuse root. That
# user may make files in $work/server, and the test itself reads its programs' memory as root.
as_nobody() {
  as=()
  mkdir -p "$work/server"
  ((EUID != 0)) || { need_other_user && chown 65534:65534 "$work/server" && as=("${drop[@]}"); }
}

# need_preset <preset> <file>: skips the test if no variant of the preset fits this file.
need_preset() {
  run inspect "$2"
  grep -q "$1 .* fits" "$work/stdout" || skip_test "no variant of the preset fits: $(grep "$1" "$work/stdout")"
}

# serve <command...>: starts the server, which writes its log to $work/server.log, with its pid in
# $target. end_server: ends it as its administrator would, since a server that is killed leaves its
# own processes behind. It leads a session of its own: Apache ends its whole process group, in which
# the servers of other tests would be.
serve() {
  (cd "$work/server" && exec setsid "${as[@]}" "$@") >"$work/server.log" 2>&1 &
  target=$!
  server=("$target")
  children+=("$target")
}
end_server() {
  kill -TERM "$target" 2>/dev/null
  for _ in {1..200}; do
    ! is_gone "$target" || break
    pause_ms 50
  done
}
end_server_test() {
  [[ -z ${target:-} ]] || end_server
  end_test
}
trap end_server_test EXIT

# client <command...>: starts a client of the server, which is held and released with the others. It
# is one process, or leads a group (start it with setsid).
client() {
  "$@" >/dev/null 2>>"$work/clients" &
  clients+=($!)
  children+=($!)
}
# Fails with the last words of the server if it has ended: then all that follows is lost.
need_server() { ! is_gone "$target" || fail "the server has ended: $(tail -n 5 "$work/server.log")"; }
signal_clients() {
  local each
  for each in "${clients[@]}"; do
    kill "-$1" -- "-$each" 2>/dev/null || kill "-$1" "$each" 2>/dev/null ||
      { need_server && fail "a client has ended: $(tail -n 3 "$work/clients")"; }
  done
}
hold_clients() {
  signal_clients STOP
  wait_until "the server is at rest" server_rests
}
release_clients() { signal_clients CONT; }
end_clients() {
  local each
  for each in "${clients[@]}"; do
    { kill -KILL -- "-$each" || kill -KILL "$each"; } 2>/dev/null && wait "$each" 2>/dev/null
  done
  clients=()
}

# The server is at rest if none of its threads runs or wants to, time and again: one may have just
# been woken by another that has gone to sleep.
server_rests() {
  local pid
  for _ in 1 2 3 4; do
    for pid in "${server[@]}"; do
      # The name is in brackets, and the state stands behind it.
      ! grep -qs ') [RD] ' /proc/"$pid"/task/*/stat || return 1
    done
    pause_ms 20
  done
  true
}

server_ticks() {
  local pid sum=0
  for pid in "${server[@]}"; do sum=$((sum + $(cpu_ticks "$pid"))); done
  echo "$sum"
}
server_has_run() {
  need_server
  is_gone "$recorder" || (($(server_ticks) >= $1))
}

# record_load <ticks> <argument...>: runs record while the clients, which must be held, load the
# server for this number of ticks of 10 ms.
record_load() {
  local ticks=$1
  shift
  start record "$@"
  wait_until "labelscope records" has_begun_or_ended
  # That is said before it samples, which may begin as late as a recording ends on a busy machine.
  # When it looks at its samples time and again, it has begun.
  [[ " $* " == *' ptrace '* ]] || wait_until "labelscope opens its perf events" has_perf_events
  let_look 300
  release_clients
  wait_until "the server computes" server_has_run $(($(server_ticks) + ticks))
  hold_clients
  kill -INT "$recorder" 2>/dev/null
  finish
  expect_status "$exit_ok" "record $*"
}

# expect_planned <recording> [argument...]: there is no set of labels that $work/plan does not have,
# and each that it has is there. The arguments are those of planned_labels.py, such as an account of
# the same time.
expect_planned() {
  expect_ledger "$1"
  judge "$1" --apart 0 "${@:2}" || fail "$1 differs from the account: $(cat "$work/judged")"
  [[ $(jq -c '[.impossible, .unseen]' "$work/judged") == '[[],[]]' ]] || fail "$1 differs from the plan: $(cat "$work/judged")"
  jq -r '.shares[].rows[] | "\(.labels | tojson): \(.share), by the server \(.account), \(.errors) standard errors"' "$work/judged"
}
judge() { python3 -B "$SOURCE_DIR/planned_labels.py" "$1" "$work/plan" "${@:2}" >"$work/judged"; }
# expect_covered <label> <per cent>: so much of the samples of the last recording have this label.
expect_covered() {
  jq -e --arg key "$1" --argjson wanted "$2" '.covered[$key] * 100 >= $wanted' "$work/judged" >/dev/null ||
    fail "not $2 per cent of the samples have the label $1: $(jq -c .covered "$work/judged")"
}

# edit_preset <preset> <sed expression>: writes the preset with this change. Its path is in $edited.
edit_preset() {
  local original=$SOURCE_DIR/../../reader/presets/$1.preset
  edited=$work/edited.preset
  sed -E "$2" "$original" >"$edited"
  ! cmp -s "$edited" "$original" || fail "nothing in the preset $1 is: $2"
}

# free_ports <number>: sets ${ports[@]} to TCP ports that nobody listens on.
free_ports() {
  mapfile -t ports < <(python3 - "$1" <<'PYTHON'
import socket, sys
each = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(one.getsockname()[1] for one in each), sep="\n")
PYTHON
  )
}

# php_script <file>: writes a front controller that works for each route, and appends the route and
# its CPU time in microseconds to the file account beside it.
php_script() {
  cat >"$1" <<'PHP'
<?php
function cpu_time() {
  $used = getrusage();
  return ($used["ru_utime.tv_sec"] + $used["ru_stime.tv_sec"]) * 1000000 + $used["ru_utime.tv_usec"] + $used["ru_stime.tv_usec"];
}
$begin = cpu_time();
$route = preg_replace('/[?#].*/', '', $_SERVER["REQUEST_URI"]);
// What a request needs before and after the script is in no account, so routes cost about the same.
$rounds = ["/checkout" => 40, "/cart" => 36, "/login" => 44, "/search" => 38, "/" => 42, "/hidden" => 40][$route];
for ($text = $route, $i = 0; $i < $rounds * 1000; ++$i) $text = md5($text);
echo $text;
file_put_contents(__DIR__ . "/account", $route . " " . (cpu_time() - $begin) . "\n", FILE_APPEND | LOCK_EX);
PHP
}
# dump_idle <preset>: what labels the server's processes have. idle_labels prints their outcomes and
# labels. expect_idle <preset>: they have none, since what they have left is stale.
dump_idle() {
  run dump --json -p "$(IFS=, && echo "${server[*]}")" --preset "$1"
  expect_status "$exit_ok" "dump with $1"
}
idle_labels() { jq -r '.threads[] | "\(.outcome) \(.labels | map("\(.key)=\(.value)") | join(" "))"' "$work/stdout"; }
expect_idle() {
  dump_idle "$1"
  [[ $(idle_labels | sort | uniq -c | tr -s ' ') == " ${#server[@]} stale " ]] || fail "processes without a request have: $(idle_labels)"
}
# php_has_run <number>: so many routes are in the account. php_account [route]: prints it for
# planned_labels.py, without this route. It begins anew whenever clients are held for a recording.
php_has_run() { (($(cut -d' ' -f1 "$work/server/account" 2>/dev/null | sort -u | wc -l) >= $1)); }
php_account() {
  awk -v without="${1:-}" '$1 != without { time[$1] += $2 } END { for (route in time)
    printf "{\"time\":%d,\"labels\":{\"route\":\"%s\"}}\n", time[route], route }' "$work/server/account"
}
