# For tests of stopping a target's threads (sourced after lib.sh): a target whose work is watched.
# It must run on whatever happens to labelscope.
#
# It takes from programs.sh: COUNTING_TARGET.
# shellcheck shell=bash

# Skips the test if processes that this shell has started cannot be stopped.
need_ptrace() {
  ((EUID == 0)) || [[ $(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0) == 0 ]] ||
    skip_test "stopping other processes needs root, or kernel.yama.ptrace_scope=0"
}

# start_counting <computing threads> <sleeping threads>: starts the target, with its pid in $target.
start_counting() {
  : >"$work/counting_said"
  mkfifo "$work/counting_stdin"
  "$COUNTING_TARGET" "$work/counts" "$1" "$2" <"$work/counting_stdin" >"$work/counting_said" &
  target=$!
  children+=("$target")
  exec {counting_stdin}>"$work/counting_stdin"
  wait_until "the counting target is ready" grep -q ready "$work/counting_said"
}

# Prints all threads' counts, in one line.
counts() { od -An -v -w8 -tu8 "$work/counts" | tr -d ' ' | paste -sd ' '; }

# has_counted_since <counts>: succeeds if every thread has counted on since.
has_counted_since() {
  local -a before now
  read -ra before <<<"$1"
  read -ra now <<<"$(counts)"
  local i
  for i in "${!before[@]}"; do
    ((now[i] > before[i])) || return 1
  done
}

# Prints threads that are traced or stopped.
stopped_threads() {
  local stat
  for stat in /proc/"$target"/task/*/stat; do
    [[ $(sed 's/.*) //; s/ .*//' "$stat" 2>/dev/null) == [tT] ]] && echo "$stat"
  done
}
nothing_is_stopped() { [[ -z $(stopped_threads) ]]; }

expect_target_goes_on() {
  is_gone "$target" && fail "the target has died $1"
  wait_until "no thread of the target is stopped $1" nothing_is_stopped
  wait_until "every thread of the target counts on $1" has_counted_since "$(counts)"
}
