# Runs the tests of /vm/tests in the guest (guest/init starts it). The host relies only on what this
# prints on the serial line, which tests/vm/read_report.awk reads. Each line begins with "@" and the
# test's number, so that no output of a test can pass for a verdict:
#
#  @fact <name> <value...>     about this machine
#  @begin <number of tests>
#  @7 start <name>
#  @7 | <output>               only of a test that failed
#  @7 passed|failed|skipped <milliseconds> <reason>
#  @end <number of tests>
#
# shellcheck shell=bash
set -u

readonly scratch=/vm/scratch
readonly chosen=$scratch/tests
mkdir -p "$scratch"

# Emulated processors are at least ten times slower. Deadlines are for hangs, not for slowness.
readonly patience=4
# A tracer and its target take turns. On one processor neither has to wake up another processor,
# which takes ten times as long as the step.
readonly in_turns='*step*_test:*'

fact() { printf '@fact %s\n' "$*"; }

now_ms() {
  local uptime
  read -r uptime _ </proc/uptime
  uptime=${uptime/./}
  echo $((10#$uptime * 10))
}

# Prints what a test said about itself: the reason of a skip, and any measured facts.
reason_of() { sed -n 's/^.*SKIPPED: //p' "$1" | head -n 1 | cut -c 1-300; }
report_facts() {
  local line
  while IFS= read -r line; do
    [[ $line != 'FACT: '* ]] || fact "${line#FACT: }"
  done <"$1"
}

# The output is enough to find the cause, and short enough for a serial line.
show_output() {
  tail -n 120 "$2" | cut -c 1-500 | tr -d '\r' | sed "s/^/@$1 | /"
}

# The kernel lowers the highest sampling rate when samples take long, as they do here. Otherwise an
# emulated machine would do nothing else. But a test must not find the rate that the previous test
# has left.
restore_sample_rate() { echo 100000 >/proc/sys/kernel/perf_event_max_sample_rate; }

# run_test <number> <name> <seconds> <setup> <command>. Starting a program takes a tenth of a second
# on an emulated processor, so the shell itself does what it can.
run_test() {
  local number=$1 output=$scratch/output status=0 verdict reason='' begun elapsed
  printf '@%s start %s\n' "$number" "$2"
  restore_sample_rate
  begun=$(now_ms)
  (
    # shellcheck disable=SC2053  # a pattern
    [[ $2 != $in_turns ]] || taskset -cp 0 "$BASHPID" >/dev/null
    eval "$4"
    eval "exec timeout --kill-after=10 $(($3 * patience)) $5"
  ) </dev/null >"$output" 2>&1 || status=$?
  elapsed=$(($(now_ms) - begun))
  case $status in
    0) verdict=passed ;;
    77) verdict=skipped reason=$(reason_of "$output") ;;
    124 | 137) verdict=failed \
      reason="ended after $(($3 * patience)) s or killed (status $status)" ;;
    *) verdict=failed reason="exit status $status" ;;
  esac
  [[ $verdict != failed ]] || show_output "$number" "$output"
  report_facts "$output"
  printf '@%s %s %s %s\n' "$number" "$verdict" "$elapsed" "$reason"
}

# The tests run one after the other. Each change of a page table on one emulated processor stops the
# others, too, so single steps beside another test take four times as long.
run_all() {
  local number=0 name seconds setup command
  while IFS=$'\t' read -r name seconds setup command; do
    number=$((number + 1))
    run_test "$number" "$name" "$seconds" "$setup" "$command"
  done <"$chosen"
}

# The kernel's command line may choose a part of the tests: labelscope_tests=PATTERN.
choose_tests() {
  local wanted
  wanted=$(sed -n 's/.*labelscope_tests=\([^ ]*\).*/\1/p' /proc/cmdline)
  if [[ -n $wanted ]]; then grep -E -- "$wanted" /vm/tests; else grep -v isolated_processor /vm/tests; fi >"$chosen"
}

describe_machine() {
  fact kernel "$(uname -r)"
  fact machine "$(uname -m)"
  fact memory_mb "$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)"
  fact boot_ms "$(now_ms)"
  fact btf "$([[ -r /sys/kernel/btf/vmlinux ]] && echo yes || echo no)"
  fact bpf_jit "$(cat /proc/sys/net/core/bpf_jit_enable 2>/dev/null || echo none)"
}

# See occupy_watchpoints.c. The program is there on x86-64 only.
occupy_watchpoints() {
  local told
  [[ -x /vm/occupy_watchpoints ]] || return 0
  exec 7< <(/vm/occupy_watchpoints 2>&1)
  read -r told <&7
  fact watchpoints_occupied "$told"
}

# A complaint of the kernel while it runs our programs is a fault, too.
complaints() { dmesg | grep -cE 'WARNING:|BUG:|Oops|Call Trace' || true; }

describe_machine
choose_tests
occupy_watchpoints
printf '@begin %s\n' "$(wc -l <"$chosen")"
before=$(complaints)
run_all
after=$(complaints)
if ((after > before)); then
  dmesg | grep -E -A 20 'WARNING:|BUG:|Oops|Call Trace' | tail -n 60 | sed 's/^/@kernel | /'
fi
fact kernel_complaints $((after - before))
printf '@end %s\n' "$(wc -l <"$chosen")"
