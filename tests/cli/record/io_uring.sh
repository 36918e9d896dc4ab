# A thread of io_uring has no user part and no labels, though its thread pointer is that of its
# creator, and nothing of its stack is missing.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
cat >"$work/ring.c" <<'EOF'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kSize = 1 << 20 };

__thread volatile int current = 42;

/* With an argument it goes on until it is killed. */
int main(int argc, char** argv) {
  (void)argv;
  struct io_uring_params about;
  memset(&about, 0, sizeof about);
  const int ring = (int)syscall(SYS_io_uring_setup, 1, &about);
  if (ring < 0) return 77;
  const int access = PROT_READ | PROT_WRITE;
  char* submitted = mmap(0, about.sq_off.array + 64, access, MAP_SHARED, ring, IORING_OFF_SQ_RING);
  char* completed = mmap(0, about.cq_off.cqes + 64, access, MAP_SHARED, ring, IORING_OFF_CQ_RING);
  struct io_uring_sqe* entry = mmap(0, 64, access, MAP_SHARED, ring, IORING_OFF_SQES);
  const int zero = open("/dev/zero", O_RDONLY);
  char* memory = malloc(kSize);
  if (submitted == MAP_FAILED || completed == MAP_FAILED || entry == MAP_FAILED) return 1;
  while (argc > 1 || clock() < CLOCKS_PER_SEC) {
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_READ;
    entry->flags = IOSQE_ASYNC;
    entry->fd = zero;
    entry->addr = (unsigned long)memory;
    entry->len = kSize;
    *(unsigned*)(submitted + about.sq_off.array) = 0;
    __atomic_add_fetch((unsigned*)(submitted + about.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0) return 1;
    __atomic_store_n((unsigned*)(completed + about.cq_off.head),
                     __atomic_load_n((unsigned*)(completed + about.cq_off.tail), __ATOMIC_ACQUIRE),
                     __ATOMIC_RELEASE);
  }
  return 0;
}
EOF
cc -O2 -o "$work/ring" "$work/ring.c" || skip_test "no compiler, or no linux/io_uring.h"
"$work/ring" || skip_test "io_uring cannot be had"
for backend in bpf ptrace; do
  run record --backend "$backend" -F 499 --overwrite -o ring.jsonl --tls current:i32=turn -- \
    "$work/ring"
  expect_status "$exit_ok" "a program that reads by io_uring, by $backend"
  read -r worker whole labelled others < <(jq -sr '[.[] | select(.type == "stack" and .end == "complete") | .id] as $whole
    | [.[] | select(.type == "labels" and any(.labels[]; .key == "turn")) | .id] as $turn
    | [.[] | select(.type == "thread" and (.name | startswith("iou-wrk"))) | .id] as $workers
    | [.[] | select(.type == "sample")] as $samples
    | [$samples[] | select(.thread as $one | $workers | index($one))] as $theirs
    | [$theirs, [$theirs[] | select(.stack as $one | $whole | index($one))],
        [$theirs[] | select(.labels as $one | $turn | index($one))],
        [($samples - $theirs)[] | select(.labels as $one | $turn | index($one))]]
    | map([.[].count] | add // 0 | tostring) | join(" ")' ring.jsonl)
  ((worker > 20)) || fail "$backend: only $worker samples are of a thread of io_uring"
  ((whole == worker)) ||
    fail "$backend: $whole of $worker stacks of io_uring's threads are complete"
  ((labelled == 0)) || fail "$backend: $labelled of $worker have the labels of who made the thread"
  ((others > 0)) || fail "$backend: no sample of the program has its label"
done
# Its waits are left out, and so no time is missing there.
"$work/ring" on </dev/null &
target=$!
children+=("$target")
has_worker() { grep -qs '^iou-wrk' /proc/"$target"/task/*/comm; }
wait_until "the program has a thread of io_uring" has_worker
run record --backend bpf --mode wall -F 99 -d 1s -p "$target" --overwrite -o ring.jsonl
skip_before_waits
expect_status "$exit_ok" "a recording of waits beside a thread of io_uring"
has_worker || skip_test "the thread of io_uring has ended meanwhile"
! grep -q 'warning: missing: ' "$work/stderr" || fail "waits are said to be missing"
