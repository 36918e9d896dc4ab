# record by ptrace and dump unwind by tables that a worker without rights has built. A file that
# gives none is named with the reason, and so is one whose worker dies. Labels are read all the
# same.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command cc
need_command jq
cat >"$work/library.c" <<'EOC'
void spin(volatile unsigned long* turns) {
  for (;;) ++*turns;
}
EOC
cat >"$work/host.c" <<'EOC'
#include <stdio.h>
#include <unistd.h>
void spin(volatile unsigned long* turns);
int main(void) {
  unsigned long turns = 0;
  puts("ready");
  fflush(stdout);
  alarm(300);
  spin(&turns);
  return 0;
}
EOC
cc -O2 -fomit-frame-pointer -fPIC -shared -o "$work/library.so" "$work/library.c" ||
  fail "no library"
cc -O2 -fomit-frame-pointer -o "$work/host" "$work/host.c" "$work/library.so" "-Wl,-rpath,$work" ||
  fail "no program"
start_host() {
  "$work/host" >"$work/said" &
  target=$!
  children+=("$target")
  wait_until "the target is ready" grep -qs ready "$work/said"
}
builder_of() { builder=$(pgrep -P "$1" -x labelscope-file | head -n 1) && [[ -n $builder ]]; }
sealed() { builder_of "$1" && [[ $(status_line "/proc/$builder/status" Seccomp) == 2 ]]; }

start_host
start record --backend ptrace -d 30 -o out.jsonl -p "$target"
wait_until "a worker without rights builds tables" sealed "$recorder"
[[ $(status_line "/proc/$builder/status" CapEff) =~ ^0+$ ]] || fail "it has capabilities"
wait_until "the target computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
kill -INT "$recorder"
finish
expect_status "$exit_ok" "recording by ptrace"
jq -se 'map(select(.type == "ledger"))[0].counters | any(.name == "stacks-complete" and .count > 0)' out.jsonl >/dev/null ||
  fail "no stack is whole"
run dump --stacks --max-stop 20s -p "$target"
expect_status "$exit_ok" "dump"
expect_shown '^    spin'
expect_shown '^    main'

# The file no longer says where its call frame information is. The program runs on another page of
# it.
printf '\0\0' | dd of="$work/library.so" bs=1 seek=54 conv=notrunc status=none
run dump --stacks --max-stop 20s -p "$target"
expect_status "$exit_ok" "dump of a process with a damaged file"
expect_said "^labelscope: warning: no stack leads through $work/library.so: "
expect_shown 'the stack ends here: .* its file has no unwind table'
run record --backend ptrace --mode wall -d 0.5 -o damaged.jsonl -p "$target"
expect_status "$exit_ok" "recording a process with a damaged file"
expect_said "no stack leads through $work/library.so: "
expect_ledger damaged.jsonl
jq -se 'map(select(.type == "ledger"))[0].counters | any(.name == "stacks-no-table" and .count > 0)' damaged.jsonl >/dev/null ||
  fail "no stack ends for want of a table"
{ kill -KILL "$target" && wait "$target"; } 2>/dev/null

# Every worker is killed as soon as it is seen.
cc -O2 -fomit-frame-pointer -fPIC -shared -o "$work/library.so" "$work/library.c" ||
  fail "no library"
start_host
# This uses only the shell's own commands, since a worker may be done before another program has
# begun.
without_workers() {
  local list child name state children_now
  start "$@"
  while { read -r state <"/proc/$recorder/stat"; } 2>/dev/null && [[ $state != *') Z '* ]]; do
    for list in "/proc/$recorder/task/"*/children; do
      { read -r -a children_now <"$list"; } 2>/dev/null  # "false": no line end
      for child in "${children_now[@]}"; do
        { read -r name <"/proc/$child/comm"; } 2>/dev/null || continue
        [[ $name == labelscope-file ]] && kill -KILL "$child" 2>/dev/null
      done
    done
  done
  finish
}
for command in "record --backend ptrace --mode wall --unwind-cache none -d 0.5 -o killed.jsonl --overwrite" \
  "dump --stacks"; do
  for ((attempt = 1; ; attempt++)); do
    # shellcheck disable=SC2086 # words
    without_workers $command -p "$target"
    expect_status "$exit_ok" "$command, without workers"
    grep -q 'no stack leads through /.*: ' "$work/stderr" && break
    ((attempt < 10)) || fail "$command: a killed worker is not reported"
  done
done
exit 0
