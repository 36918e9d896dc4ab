# Code that changes stacks marks its frame with augmentation "S", as OCaml 5 does where it calls C.
# Stacks lead through it, and through all other code of its file, for each backend and for dump.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command cc
[[ $(uname -m) == x86_64 ]] || skip_test "the assembly code is of x86-64"
cat >changes.S <<'EOS'
# void on_other_stack(void (*call)(void), void* top)
        .text
        .globl on_other_stack
        .type on_other_stack, @function
on_other_stack:
        .cfi_startproc
        .cfi_signal_frame
        mov %rsp, -16(%rsi)
        lea -16(%rsi), %rsp
        .cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 8     # CFA = *sp + 8
        call *%rdi
        mov (%rsp), %rsp
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size on_other_stack, . - on_other_stack
        .section .note.GNU-stack, "", @progbits
EOS
cat >program.c <<'EOC'
#include <stdio.h>
#include <unistd.h>
void on_other_stack(void (*call)(void), void* top);
static char other_stack[65536] __attribute__((aligned(16)));
static volatile unsigned long turns;
__attribute__((noinline)) void spin(void) {
  for (;;) turns++;
}
__attribute__((noinline)) void calls(void) {
  on_other_stack(spin, other_stack + sizeof other_stack);
  turns++;
}
int main(void) {
  puts("ready");
  fflush(stdout);
  alarm(300);
  calls();
  return 0;
}
EOC
cc -g -O1 -fomit-frame-pointer -o program program.c changes.S || skip_test "no compiler"
start_target ./program
# Stacks must be whole on a slow machine, too.
run dump --stacks --max-stop 20s -p "$target"
expect_status "$exit_ok" "dump --stacks"
frames=$(sed -nE 's/^    (spin|on_other_stack|calls|main)( .*)?$/\1/p' "$work/stdout" | tr '\n' ' ')
[[ $frames == "spin on_other_stack calls main " ]] || fail "not the chain of calls: $frames"

expect_recorded() {
  record_for 50 --backend "$1" --unwind-cache "$2" -o out.folded --overwrite -p "$target"
  expect_status "$exit_ok" "record --backend $1"
  ! grep -q 'no stack leads through' "$work/stderr" || fail "$1: the file has no table"
  grep -Eq 'main;calls;on_other_stack;spin [0-9]+$' out.folded || fail "$1: not the chain of calls: $(<out.folded)"
}
expect_recorded ptrace none
# The second of these has the table that the first one has kept.
if (need_sampling); then
  expect_recorded bpf "$work/kept"
  expect_recorded bpf "$work/kept"
fi
