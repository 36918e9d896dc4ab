# Shared by the tests of the command line (sourced, not run). Each test is one scenario, runs in a
# folder of its own and sees the program only from outside: arguments, output, files, exit status.
#
# CMake writes the places of programs (LABELSCOPE, DEMO_SERVICE, ...) into programs.sh of a build.
# Without ctest it is that of the preset dev, and PROGRAMS names another.
# shellcheck shell=bash
set -uo pipefail

SOURCE_DIR=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
: "${PROGRAMS:=$SOURCE_DIR/../../build/dev/tests/cli/programs.sh}"
[[ -r $PROGRAMS ]] || { echo "FAILED: $PROGRAMS cannot be read: build the tests first, or name that of another build in PROGRAMS"; exit 1; }
# shellcheck source=/dev/null
source "$PROGRAMS"
# shellcheck disable=SC2034  # for the tests that need them
readonly exit_ok=0 exit_error=1 exit_usage=2 exit_no_target=3 exit_permission=4 exit_no_sample=5 exit_account=6
# shellcheck disable=SC2034  # of check
readonly exit_findings=1 exit_unchecked=3

work=$(mktemp -d "${TMPDIR:-/tmp}/labelscope-test.XXXXXX") || exit 1
mkdir "$work/out"
cd "$work/out" || exit 1
# Newer versions of Go compile `go tool pprof` when it is called first, which takes a minute.
export GOCACHE=${GOCACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/go-build}
# No test finds what another one has kept.
export XDG_CACHE_HOME=$work/cache
children=() besides=()

end_children() {
  local child
  for child in ${besides[@]+"${besides[@]}"}; do
    # The child ends what it has started itself.
    kill -TERM "${child#*:}" 2>/dev/null && wait "${child#*:}" 2>/dev/null
  done
  # All are killed before one is awaited: a target whose tracer is stopped has no end before that of
  # the tracer. Each is reaped here, or the shell would report its death.
  for child in ${children[@]+"${children[@]}"}; do kill -KILL "$child" 2>/dev/null; done
  for child in ${children[@]+"${children[@]}"}; do wait "$child" 2>/dev/null; done
}
end_test() {
  end_children
  cd / && rm -rf "$work"
}
trap end_test EXIT
trap 'exit 1' INT TERM HUP

skip_test() {
  printf 'SKIPPED: %s\n' "$*"
  exit 77
}

# Every failure shows the program's last output, since ctest shows it.
fail() {
  printf 'FAILED: %s\n' "$*"
  local stream
  for stream in stdout stderr pprof_stderr; do
    [[ -s $work/$stream ]] && sed "s/^/  $stream: /" "$work/$stream"
  done
  exit 1
}

# The kernel asks for CAP_PERFMON and CAP_BPF (bits 38 and 39), or for CAP_SYS_ADMIN (21).
need_sampling() {
  local effective
  effective=$((16#$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status)))
  (((effective >> 38 & 1) && (effective >> 39 & 1))) || ((effective >> 21 & 1)) ||
    skip_test "sampling needs CAP_BPF and CAP_PERFMON, or root"
}

# Whether the last command says that the kernel is too old to sample waits. If its verifier refuses a program,
# the message names the kernel, too, but without brackets: that is a failure.
too_old_for_waits() { grep -q '(Linux 6.18)' "$work/stderr"; }
# Skips the test if that is what the last command says.
skip_before_waits() {
  ! too_old_for_waits || skip_test "the kernel lets no thread sample itself (Linux 6.18)"
}
# Skips the test where waits cannot be sampled, before anything else is recorded.
need_waits() {
  need_sampling
  "$LABELSCOPE" record --backend bpf --mode offcpu -o probe.jsonl -- true 2>"$work/stderr" && return
  skip_before_waits
  fail "--mode offcpu: $(cat "$work/stderr")"
}

need_command() {
  command -v "$1" >/dev/null || skip_test "$1 is not installed"
}

# The status is true if a command can run as another user without rights, which is "${drop[@]}"
# command.... Otherwise $no_other_user is the reason. That user reaches neither a private build folder
# nor a private home: its program is $work/labelscope, and it may make files in the current folder.
has_other_user() {
  no_other_user="becoming another user needs root"
  ((EUID == 0)) || return 1
  no_other_user="setpriv is not installed"
  command -v setpriv >/dev/null || return 1
  chmod 755 "$work" && chmod 777 "$work/out"
  cp "$LABELSCOPE" "$work/labelscope" && chmod 755 "$work/labelscope"
  drop=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
  no_other_user="user 65534 cannot reach $work; set TMPDIR to a public folder"
  "${drop[@]}" test -x "$work/labelscope"
}
need_other_user() { has_other_user || skip_test "$no_other_user"; }

# beside <function>: runs the function's tests in a folder of their own while the script goes on.
# This is for scenarios that wait and do not disturb each other. together: waits for all of them,
# and each must succeed.
beside() {
  (
    work=$work/$1 children=() besides=()
    trap end_children EXIT
    trap 'exit 1' INT TERM HUP
    mkdir -p "$work/out" && cd "$work/out" || exit 1
    "$1"
  ) >"$work/$1.said" 2>&1 &
  besides+=("$1:$!")
}
together() {
  local each status worst=0
  for each in "${besides[@]}"; do
    wait "${each#*:}"
    status=$?
    cat "$work/${each%%:*}.said"
    # A failure counts more than a skip.
    ((status == 0 || worst == 1)) || worst=$((status == 77 ? 77 : 1))
  done
  besides=()
  ((worst == 0)) || exit "$worst"
}

# wait_until <what, in words> <command...>: asks the condition again until it holds.
wait_until() {
  local what=$1 deadline=$((SECONDS + 60))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || fail "waited for a minute, and not yet: $what"
    sleep 0.02
  done
}

# pause_us <microseconds>, pause_ms <milliseconds>: pause without starting a process, unlike sleep.
pause_us() {
  local seconds
  [[ -n ${never:-} ]] || exec {never}<> <(:)
  printf -v seconds '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000))
  read -rt "$seconds" -u "$never"
}
pause_ms() { pause_us $(($1 * 1000)); }

# rounds <by default> <whole>: prints how often or how long something is repeated, which is the
# whole with LABELSCOPE_THOROUGH=1.
rounds() { if [[ ${LABELSCOPE_THOROUGH:-} == 1 ]]; then echo "$2"; else echo "$1"; fi; }

# run <argument...>: runs labelscope to its end, and sets $status, $work/stdout and $work/stderr.
run() {
  timeout --signal=KILL 90 "$LABELSCOPE" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
}

# start <argument...>: starts labelscope in the background, with its pid in $recorder. A shell
# without job control lets its background children ignore SIGINT, which no terminal does.
start() {
  # What a recording before has said must not be taken for what this one says.
  : >"$work/stderr"
  env --default-signal=INT "$LABELSCOPE" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null &
  recorder=$!
  children+=("$recorder")
}

# mark_processes [word]: gives everything that is started from here on, and its children, a mark in
# the environment.
mark_processes() {
  mark=labelscope_test_$$_$RANDOM${1:-}
  export LABELSCOPE_TEST_MARK=$mark
}
# Lists processes with the mark that run this program and have not ended.
marked_that_run() {
  local pid
  for pid in $(grep -lsz "^LABELSCOPE_TEST_MARK=$mark\$" /proc/[0-9]*/environ | sed 's,/proc/,,; s,/environ,,'); do
    [[ $(readlink "/proc/$pid/exe") == "$1" && $(state_of "$pid") != Z ]] && echo "$pid"
  done
}
# expect_none_runs <program> <when>: checks that there are no such processes.
expect_none_runs() {
  local left
  left=$(marked_that_run "$1")
  [[ -z $left ]] || { kill -KILL $left; fail "$2: still running: $left"; }
}
any_runs() { [[ -n $(marked_that_run "$1") ]]; }
none_runs() { ! any_runs "$1"; }

is_gone() { ! kill -0 "$1" 2>/dev/null || [[ $(state_of "$1") == Z ]]; }
state_of() { sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null; }

# Waits for $recorder, and sets $status to its exit status.
finish() {
  wait_until "labelscope ends" is_gone "$recorder"
  wait "$recorder"
  status=$?
}

# Starts a process that computes and publishes no labels, with its pid in $target.
start_busy_target() {
  bash -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
  target=$!
  children+=("$target")
}

# start_target <program> <argument...>: starts one that prints its truth (tests/README.md) and ends
# when its stdin closes. Its pid is in $target, its truth in $work/truth. stop_target must come
# before the next one.
start_target() {
  rm -f "$work/stdin" "$work/truth"
  mkfifo "$work/stdin" || fail "no fifo"
  "$@" <"$work/stdin" >"$work/truth" 2>/dev/null &
  target=$!
  children+=("$target")
  exec 8>"$work/stdin"
  wait_until "the target is ready" grep -qsx ready "$work/truth"
}
stop_target() {
  exec 8>&-
  kill -KILL "$target" 2>/dev/null  # it may have ended by itself
  wait "$target" 2>/dev/null || true
}
# Returns whether each thread of the target sleeps.
all_sleep() { ! grep -hE '^[0-9]+ \([^)]*\) [^S]' "/proc/$target"/task/*/stat >/dev/null; }
# Prints the thread IDs that the target printed.
true_tids() { sed -n 's/^{"tid":\([0-9]*\),.*/\1/p' "$work/truth"; }

# status_line <file> <name>: prints the value of this line in a status file.
status_line() { sed -n "s/^$2:[[:space:]]*//p" "$1" 2>/dev/null; }

# Prints the CPU time of a process so far, in clock ticks of 10 ms. User and system time are fields
# 14 and 15. A process that is gone has none.
cpu_ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ ticks = $12 + $13 } END { print ticks + 0 }'; }

has_perf_events() {
  is_gone "$recorder" && fail "labelscope ended before it sampled"
  find "/proc/$recorder/fd" -lname 'anon_inode:\[perf_event\]' 2>/dev/null | grep -q .
}
has_run_until() { (($(cpu_ticks "$1") >= $2)); }

# Waits until $recorder has opened its events and $target has then run for another half second, so
# that there are samples.
wait_for_samples() {
  wait_until "labelscope opens its perf events" has_perf_events
  wait_until "the target computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
}

has_begun_or_ended() { grep -q '^Recording' "$work/stderr" || is_gone "$recorder"; }
has_run_or_ended() { has_run_until "$target" "$1" || is_gone "$recorder"; }

# record_for <ticks> <argument...>: runs record until $target has used a processor for this number
# of ticks of 10 ms. So a busy machine, which takes longer, has as many samples.
record_for() {
  local ticks=$1
  shift
  start record "$@"
  wait_until "labelscope records" has_begun_or_ended
  wait_until "the target computes" has_run_or_ended $(($(cpu_ticks "$target") + ticks))
  kill -INT "$recorder" 2>/dev/null
  finish
}

# Prints the nanoseconds for which a thread of $target, or of its child, has had a processor.
run_time_of() { { read -r run_time _ <"/proc/$1/schedstat"; } 2>/dev/null || run_time=0; }
each_has_run_or_ended() {
  local tid
  is_gone "$recorder" && return
  for tid in "${!wanted_time[@]}"; do
    run_time_of "$tid"
    ((run_time >= wanted_time[$tid])) || return 1
  done
}

# record_threads <milliseconds> <argument...>: runs record until each thread that the target printed
# has used a processor for this time.
record_threads() {
  local wanted=$1 tid run_time
  local -A wanted_time=()
  shift
  start record "$@"
  wait_until "labelscope records" has_begun_or_ended
  for tid in $(true_tids); do
    run_time_of "$tid"
    wanted_time[$tid]=$((run_time + wanted * 1000000))
  done
  wait_until "each thread computes" each_has_run_or_ended
  kill -INT "$recorder" 2>/dev/null
  finish
}

# let_look <milliseconds>: waits for this time, and until labelscope has been awake as often as it
# is in half of that time on an idle machine, where it wakes every 100 ms. This is for what it looks
# at by the clock.
# The thread that records is not the first one (cli/host/replaceable_thread.h).
times_awake() {
  local task
  for task in "/proc/$recorder/task/"*; do
    [[ $(cat "$task/comm" 2>/dev/null) == labelscope-read ]] || continue
    status_line "$task/status" voluntary_ctxt_switches && return
  done
  echo 0
}
has_been_awake() { (($(times_awake) >= $1)) || is_gone "$recorder"; }
let_look() {
  local before
  before=$(times_awake)
  pause_ms "$1"
  wait_until "labelscope looks" has_been_awake $((before + 1 + $1 / 200))
}

# at_rest <command...>: runs the command while $target is stopped, because a target whose threads
# all compute leaves little time to other programs.
at_rest() {
  kill -STOP "$target"
  "$@"
  kill -CONT "$target"
}

# with_enough_time <milliseconds> <command...>: runs the command with this time as its last
# argument, and again with four and sixteen times as much if that was not enough on a busy machine.
# If the command fails, it must exit as a test does.
with_enough_time() {
  local time=$1 factor ended
  shift
  for factor in 1 4 16; do
    ("$@" $((time * factor)))
    ended=$?
    ((ended == 0)) && return
    ((ended == out_of_time)) || exit "$ended"
  done
  fail "it was not enough time: $((time * 16)) ms"
}
readonly out_of_time=75
# need_more_time <why>: what was looked for can come later on a busy machine.
need_more_time() {
  printf 'not in time: %s\n' "$*"
  exit "$out_of_time"
}

# Prints how labelscope writes these milliseconds in seconds: 1.5, 6.0 or 6.
seconds_of() { awk -v ms="$1" 'BEGIN { print ms / 1000 "(\\.0)?" }'; }

expect_status() {
  [[ $status == "$1" ]] || fail "exit status $status, expected $1 ($2)"
}

# expect_said <extended regular expression>: checks stderr, ignoring case.
expect_said() {
  grep -Eiq -- "$1" "$work/stderr" || fail "stderr does not say: $1"
}

# expect_shown <extended regular expression>: checks stdout.
expect_shown() {
  grep -Eq -- "$1" "$work/stdout" || fail "stdout does not show: $1"
}

expect_no_stdout() {
  [[ ! -s $work/stdout ]] || fail "stdout must stay empty"
}

expect_no_files() {
  local left
  left=$(ls -A .)
  [[ -z $left ]] || fail "left behind: $left"
}

# Checks the file with the Go tools if they are installed, and with gzip in any case.
expect_pprof() {
  [[ -s $1 ]] || fail "no profile in $1"
  gzip --test "$1" || fail "$1 is not gzip"
  if command -v go >/dev/null; then
    pprof -raw "$1" >"$work/raw" || fail "go tool pprof does not accept $1"
    grep -Eq '^ +[0-9]+( +[0-9]+)*: ' "$work/raw" || fail "no sample in $1"
  fi
}

# expect_ledger <recording.jsonl>: checks that taken is the sum of the outcomes, that written is
# taken minus dropped, and that the file has as many samples; that these have the attributed time,
# and that no other account of the kernel differs from it (docs/questions.md, "What does the ledger
# count?").
expect_ledger() {
  jq -se '(map(select(.type == "ledger"))[0]) as $ledger
    | $ledger.taken == ($ledger.outcomes | add) and $ledger.written == $ledger.taken - $ledger.dropped
      and ([.[] | select(.type == "sample") | .count] | add) == $ledger.written' "$1" >/dev/null ||
    fail "the ledger of $1 does not add up: $(grep '"type":"ledger"' "$1")"
  jq -se '(map(select(.type == "ledger"))[0].time) as $time
    | (map(select(.type == "header"))[0].backend) as $backend
    | ($time.attributed_ns + $time.unsampled_ns + $time.lost_ns) as $whole
    | ([40000000, $whole / 100] | max) as $most
    | ([.[] | select(.type == "sample") | .weight_ns] | add) == $time.attributed_ns
      and $time.twice_ns <= $most and ($time.missing_ns <= $most or $backend != "bpf")' "$1" >/dev/null ||
    fail "accounts of the time of $1 differ: $(grep '"type":"ledger"' "$1")"
}

# copy_of_bash <name>: makes a program of this name whose functions have names. Its path is in
# $copy.
copy_of_bash() {
  copy=$work/$1
  cp "$(command -v bash)" "$copy" || fail "no copy of bash"
}

# expect_named <recording.jsonl> <pid> <program>: checks that at least ten samples of the process
# have a function of this program.
expect_named() {
  jq -se --argjson pid "$2" --arg program "$3" 'def of(what): map(select(.type == what));
    ([of("module")[] | select(.path == $program) | .id]) as $modules
    | ([of("location")[] | select(.module as $one | $modules | index($one)) | select(.lines != []) | .id]) as $locations
    | ([of("stack")[] | select(.locations - $locations != .locations) | .id]) as $stacks
    | ([of("thread")[] | select(.pid == $pid) | .id]) as $threads
    | [of("sample")[] | select(.thread as $one | $threads | index($one))
        | select(.stack as $one | $stacks | index($one)) | .count] | add >= 10' "$1" >/dev/null ||
    fail "not ten samples of process $2 in $3"
}

# Runs go tool pprof without a home folder, a network or a browser.
pprof() {
  HOME=$work PPROF_TMPDIR=$work GOTOOLCHAIN=local GOFLAGS='' go tool pprof "$@" 2>"$work/pprof_stderr"
}
