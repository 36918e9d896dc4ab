# A parent that waits in vfork cannot be stopped. ptrace records its other threads; with --mode wall
# it is there as unreadable, and counted.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
cat >"$work/vforks.c" <<'EOF'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((used)) const uint32_t custom_labels_abi_version = 1;
__attribute__((used)) __thread const void* custom_labels_current_set;
static volatile unsigned long turns;
static void* compute(void* nothing) {
  for (;;) turns++;
  return nothing;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, compute, NULL);
  if (vfork() == 0) {
    char byte;
    while (read(0, &byte, 1) > 0) continue;
    _exit(0);
  }
  return 0;
}
EOF
cc -O1 -pthread -rdynamic -o "$work/vforks" "$work/vforks.c" || skip_test "no compiler"
mkfifo "$work/stdin"
"$work/vforks" <"$work/stdin" >/dev/null 2>&1 &
target=$!
children+=("$target")
exec 8>"$work/stdin"
waits_in_vfork() { [[ $(state_of "$target") == D ]]; }
wait_until "the target waits for its child" waits_in_vfork
run record --backend ptrace -d 1 -p "$target" -o cpu.jsonl
expect_status "$exit_ok" "a parent in vfork"
samples_of() { # <file> <yes: the first thread, no: another>
  jq -sr --argjson pid "$target" --arg first "$2" '(map(select(.type == "thread" and .pid == $pid
      and ((.tid == $pid) == ($first == "yes"))) | .id)) as $threads
    | [.[] | select(.type == "sample" and (.thread as $t | $threads | index($t)))] | length' "$1"
}
(($(samples_of cpu.jsonl no) >= 20)) || fail "less than 20 samples of the thread that computes"
run record --backend ptrace --mode wall -d 1 -p "$target" -o wall.jsonl
expect_status "$exit_ok" "a parent in vfork, --mode wall"
(($(samples_of wall.jsonl no) >= 20)) ||
  fail "less than 20 samples of the thread that computes, --mode wall"
(($(samples_of wall.jsonl yes) >= 20)) || fail "less than 20 samples of the thread that waits"
expect_said 'samples with neither labels nor stack: [0-9]+ \(the thread did not stop in time'

# dump has its labels all the same, where BPF may read them.
if (need_sampling) >/dev/null; then
  run dump --json --stacks -p "$target"
  expect_status "$exit_ok" "dump of a parent in vfork"
  jq -e --argjson tid "$target" '.late_by_bpf == 1 and all(.threads[]; .outcome == "unlabelled")' "$work/stdout" >/dev/null ||
    fail "the thread in vfork was not read: $(cat "$work/stdout")"
  expect_said '1 thread waited in the kernel for something that nothing interrupts and did not stop in time; read by BPF'
  run dump --json -p "$target"
  expect_status "$exit_ok" "dump without stacks"
  jq -e '.late_by_bpf == 0 and all(.threads[]; .outcome == "unlabelled")' "$work/stdout" >/dev/null ||
    fail "the thread in vfork was not read without a stop: $(cat "$work/stdout")"
fi
