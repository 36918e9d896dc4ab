# Shared by the tests of published tracers and label libraries (sourced, behind lib.sh). Each installs
# a named version from its registry, and is skipped where the registry does not answer. The tables of
# README.md and docs/label-sources.md name the same versions.
# shellcheck shell=bash
need_command python3
tracers=$SOURCE_DIR/../targets/tracers

# fetch <what> <from> <command...>: installs it, or skips the test with what the command said of the
# registry. A registry that answers and refuses is a failure: there is no such version.
fetch() {
  local what=$1 from=$2 ended
  shift 2
  timeout 200 "$@" >"$work/install" 2>&1 && return
  ended=$?
  ((ended != 124)) || skip_test "$from has not given $what within 200 s"
  grep -Eiq "$not_there" "$work/install" ||
    { sed 's/^/  install: /' "$work/install"; fail "$what cannot be installed from $from"; }
  skip_test "$from does not answer for $what: $(grep -Ei "$not_there" "$work/install" | tail -n 1)"
}
# How pip, npm, mvn, cargo and go say that they reach no registry.
not_there='resolve|name resolution|no such host|unknown host|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|timed out|connection refused|connection was refused|network is unreachable|connect to|connection broken|offline'

# install_jar <group:artifact:version>: fetches it from Maven Central; its path is in $jar.
install_jar() {
  need_command mvn
  fetch "$1" "Maven Central" mvn --batch-mode --quiet \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy "-Dartifact=$1" "-DoutputDirectory=$work/jars"
  local name=${1#*:}
  jar=$work/jars/${name/:/-}.jar
  [[ -s $jar ]] || fail "$jar is not there"
}

# need_jdk: skips the test without a compiler for Java, or one that is too old for the agents here.
need_jdk() {
  need_command java
  need_command javac
}

# expect_labels <what> <kind> <file>: holds a dump or a recording against what the threads printed. The
# status is 3 if the dump has come when a thread ran no code of the program, which needs $unlabelled.
expect_labels() {
  python3 "$SOURCE_DIR/tracer_labels.py" "$2" "$3" "$work/truth" "${unlabelled:-0}"
  local ended=$?
  ((ended == 0 || ended == 3)) || fail "$1"
  return "$ended"
}

# A dump of a moment in which each thread runs the program. A kernel before 5.18 takes no snapshot.
is_dumped() {
  run dump -p "$target" --backend "$1" --json
  [[ $1 == ptrace || $status == "$exit_ok" ]] || return 0
  expect_status "$exit_ok" "dump by $1"
  expect_labels "dump by $1" dump "$work/stdout"
}

# expect_published <source> <command...>: starts the program, which stays as $target, and reads it in
# each way. $unlabelled is the share of samples that may have no labels: a runtime works, too.
expect_published() {
  local source=$1 backend backends=(ptrace) tid
  shift
  start_target "$@"
  # The program may be a child of what was started.
  tid=$(sed -n 's/.*"tid": *\([0-9]*\).*/\1/p' "$work/truth" | head -n 1)
  target=$(status_line "/proc/$tid/status" Tgid)
  [[ -n $target ]] || fail "the target printed no thread: $(<"$work/truth")"
  run dump -p "$target" --json
  expect_status "$exit_ok" "dump"
  jq -e --arg source "$source" '.publishers | any(.source == $source)' "$work/stdout" >/dev/null ||
    fail "no publisher of $source: $(jq -c .publishers "$work/stdout")"
  (need_sampling >/dev/null) && backends+=(bpf)
  for backend in "${backends[@]}"; do
    wait_until "each thread runs the program when it is read" is_dumped "$backend"
    record_for 100 --backend "$backend" -F 299 --call-graph none -p "$target" -o "$work/$backend.jsonl" --overwrite
    expect_status "$exit_ok" "record by $backend"
    expect_ledger "$work/$backend.jsonl"
    expect_labels "record by $backend" recording "$work/$backend.jsonl"
  done
}

# are_shares_true <backend> <key> <command...>: expect_shares once, by one backend.
are_shares_true() {
  local backend=$1 key=$2
  shift 2
  "$LABELSCOPE" record --backend "$backend" -F 299 --call-graph none -o "$work/shares.jsonl" --overwrite -- "$@" \
    >"$work/printed" 2>"$work/stderr" || fail "record of what takes turns, by $backend"
  # Agents print more than that.
  grep -Ex '\{("[a-z0-9]+": ?[0-9.]+(, ?)?)+\}' "$work/printed" >"$work/account" || fail "no account: $(<"$work/printed")"
  python3 "$SOURCE_DIR/tenant_shares.py" "$work/shares.jsonl" "$work/account" --key "$key" --allow 0.02
  local ended=$?
  ((ended != 2)) || fail "labels of nothing that took turns, by $backend"
  return "$ended"
}
# expect_shares <key> <command...>: records the command, which prints how much CPU time each value of the
# label took, and holds the shares against that. What comes before the first span is in no account.
expect_shares() {
  local backend backends=(ptrace)
  (need_sampling >/dev/null) && backends+=(bpf)
  for backend in "${backends[@]}"; do
    # One of a hundred recordings has a share beyond three standard errors by chance.
    are_shares_true "$backend" "$@" || are_shares_true "$backend" "$@" || fail "shares of what takes turns, by $backend"
  done
}
