# Runs the tests of /vm/tests in the guest (sourced by nobody: bash /vm/run_tests.sh). All that the host believes is what
# this prints on the serial line; tests/vm/read_report.awk reads it. Each line begins with "@" and the test's number, so
# that lines of two tests may mix and no output of a test can pass for a verdict:
#
#   @fact <name> <value...>     about this machine
#   @begin <number of tests>
#   @7 start <name>
#   @7 | <output>               only of a test that failed
#   @7 passed|failed|skipped <milliseconds> <reason>
#   @end <number of tests that have a verdict>
#
# shellcheck shell=bash
set -u

readonly scratch=/vm/scratch
mkdir -p "$scratch"

# Emulated processors are ten times slower and more; deadlines mean hangs, not slowness.
readonly patience=4

fact() { printf '@fact %s\n' "$*"; }

now_ms() {
  local uptime
  read -r uptime _ </proc/uptime
  uptime=${uptime/./}
  echo $((10#$uptime * 10))
}

# What a test said about itself: the reason of a skip, the measured facts of any.
reason_of() { sed -n 's/^.*SKIPPED: //p' "$1" | head -n 1 | cut -c 1-300; }
facts_of() { sed -n 's/^ *FACT: /@fact /p' "$1"; }

# Enough to find the cause and little enough for a serial line.
show_output() {
  tail -n 120 "$2" | cut -c 1-500 | tr -d '\r' | sed "s/^/@$1 | /"
}

# run_test <number> <name> <seconds> <command>
run_test() {
  local number=$1 output=$scratch/$1.out status=0 verdict reason='' begun elapsed
  printf '@%s start %s\n' "$number" "$2"
  begun=$(now_ms)
  timeout --kill-after=10 $(($3 * patience)) bash -c "$4" </dev/null >"$output" 2>&1 || status=$?
  elapsed=$(($(now_ms) - begun))
  case $status in
    0) verdict=passed ;;
    77) verdict=skipped reason=$(reason_of "$output") ;;
    124 | 137) verdict=failed reason="ended after $(($3 * patience)) s or killed (status $status)" ;;
    *) verdict=failed reason="exit status $status" ;;
  esac
  [[ $verdict != failed ]] || show_output "$number" "$output"
  facts_of "$output"
  rm -f "$output"
  printf '@%s %s %s %s\n' "$number" "$verdict" "$elapsed" "$reason"
}

# run_lines <worker> <workers> <order>: each worker's share of the tests of that order.
run_lines() {
  local number=0 turn=0 name order seconds command
  while IFS=$'\t' read -r name order seconds command; do
    number=$((number + 1))
    [[ $order == "$3" ]] || continue
    turn=$((turn + 1))
    ((turn % $2 == $1)) || continue
    run_test "$number" "$name" "$seconds" "$command"
  done </vm/tests
}

describe_machine() {
  fact kernel "$(uname -r)"
  fact machine "$(uname -m)"
  fact memory_mb "$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)"
  fact boot_ms "$(now_ms)"
  fact btf "$([[ -r /sys/kernel/btf/vmlinux ]] && echo yes || echo no)"
  fact bpf_jit "$(cat /proc/sys/net/core/bpf_jit_enable 2>/dev/null || echo none)"
}

# What the kernel complains about while it runs our programs is a fault, too.
complaints() { dmesg | grep -cE 'WARNING:|BUG:|Oops|Call Trace' || true; }

describe_machine
printf '@begin %s\n' "$(wc -l </vm/tests)"
before=$(complaints)
workers=$(nproc)
for ((worker = 0; worker < workers; worker++)); do
  run_lines "$worker" "$workers" parallel &
done
wait
run_lines 0 1 serial
after=$(complaints)
if ((after > before)); then
  dmesg | grep -E -A 20 'WARNING:|BUG:|Oops|Call Trace' | tail -n 60 | sed 's/^/@kernel | /'
fi
fact kernel_complaints $((after - before))
printf '@end %s\n' "$(wc -l </vm/tests)"
