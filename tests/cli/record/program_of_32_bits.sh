# A 32-bit program cannot have labels of ABI v1: its threads are unreadable, and every way to read
# gives the reason.
source "${BASH_SOURCE%/*}/../lib.sh"
[[ $(uname -m) == x86_64 ]] || skip_test "a 32-bit program is made for x86-64 alone"
need_command as
need_command ld
printf '.globl _start\n_start: jmp _start\n' | as --32 -o "$work/program.o" - &&
  ld -m elf_i386 -o "$work/program" "$work/program.o" || fail "the program of 32 bits was not built"
"$work/program" &
target=$!
children+=("$target")
runs_program() { [[ $(readlink "/proc/$target/exe") == "$work/program" ]]; }
runs_or_is_gone() { runs_program || is_gone "$target"; }
wait_until "the program runs" runs_or_is_gone
is_gone "$target" && skip_test "the kernel runs no 32-bit programs (CONFIG_IA32_EMULATION)"
run dump --backend ptrace -p "$target"
expect_status "$exit_ok" "dump by ptrace"
expect_shown "^Thread $target .*\(unreadable: a 32-bit program: only 64-bit ones have labels\)$"
expect_said '^1 thread = 0 labelled \+ 0 unlabelled \+ 1 unreadable'
run check -p "$target"
expect_status "$exit_unchecked" "check"
expect_shown 'not checked .*32-bit'
need_sampling
run dump --backend bpf -p "$target"
expect_status "$exit_ok" "dump by BPF"
expect_shown 'a 32-bit ELF file: only 64-bit programs have labels'
expect_shown "^Thread $target .*\(unreadable: the label variable could not be located\)$"
run record --backend bpf -d 1 -o out.jsonl -p "$target"
expect_status "$exit_ok" "record by BPF"
expect_said '32-bit'
expect_ledger out.jsonl
jq -se 'map(select(.type == "ledger"))[0].outcomes | .unlabelled == 0 and .labelled == 0' \
  out.jsonl >/dev/null ||
  fail "a sample of a 32-bit program counts as read"
grep -q 'had set any' "$work/stderr" &&
  fail "it says that no thread had set any labels, which is not known"
exit 0
