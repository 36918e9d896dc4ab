# inspect --unwind on assembly code that is described, badly described, and not described. The true
# addresses are those of nm.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
need_command nm
[[ $(uname -m) == x86_64 ]] || skip_test "the assembly code is of x86-64"
cat >described.S <<'EOS'
        .text
        .globl described
        .type described, @function
described:
        .cfi_startproc
        push %rbx
        .cfi_adjust_cfa_offset 8
        pop %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size described, . - described
EOS
cat >odd.S <<'EOS'
        .text
        .balign 16
        .globl bare
        .type bare, @function
bare:
        push %rbx
        mov %rdi, %rsp
        mov %rbx, %rsp
        pop %rbx
        ret
        .size bare, . - bare
        .balign 16
        .globl followed
        .type followed, @function
followed:
        push %rbx
        mov %rdi, %rbx
        pop %rbx
        ret
        .size followed, . - followed
        .balign 16
        .globl twice
        .type twice, @function
twice:
        .cfi_startproc
        nop
        .cfi_escape 0x0f, 4, 0x77, 0, 0x12, 0x22
        nop
        ret
        .cfi_endproc
        .size twice, . - twice
EOS
cat >framed.S <<'EOS'
        .text
        .globl framed
        .type framed, @function
framed:
        push %rbp
        mov %rsp, %rbp
        call other@PLT
        pop %rbp
        ret
        .size framed, . - framed
EOS
link() { cc -shared -nostdlib -Wa,--noexecstack -o "$@" || skip_test "no compiler"; }
link described.so described.S
link odd.so described.S odd.S
link framed.so described.S framed.S
# range_of <file> <symbol>: prints the range in the form of the JSON.
range_of() { nm -S "$1" | awk -v name="$2" '$4 == name { print $1, $2 }' | while read -r start size; do
  printf '0x%x 0x%x\n' "0x$start" "$((16#$start + 16#$size))"; done; }

run inspect --unwind described.so
expect_status "$exit_ok" "described code"
grep -q 'described.so: every stack leads through its code$' "$work/stdout" || fail "described code has gaps"
run inspect --unwind --json described.so
[[ $(jq -r '.files[0] | "\(.functions) \(.gap_count) \(.gap_bytes) \(.unsupported_bytes)"' "$work/stdout") == "1 0 0 0" ]] ||
  fail "not one function without gaps"

run inspect --unwind odd.so
expect_status "$exit_error" "odd code"
grep -Eq '^    0x[0-9a-f]+ to 0x[0-9a-f]+  bare: not described$' "$work/stdout" || fail "the function without description"
grep -Eq 'twice: described in a way that is not supported$' "$work/stdout" || fail "the function with an odd description"
grep -Eq ' followed: not described; its instructions are followed$' "$work/stdout" || fail "the function that is followed"
grep -q ' described: ' "$work/stdout" && fail "the described function is a gap"
run inspect --unwind --json odd.so
expect_status "$exit_error" "odd code, as JSON"
found=$(jq -r '.files[0].gaps[] | select(.kind == "gap") | "\(.function) \(.start)"' "$work/stdout")
read -r start end < <(range_of odd.so bare)
[[ $found == "bare $(printf '0x%x' $((start + 4)))" ]] ||
  fail "not the range of the function in the output of nm: $found"
[[ $(jq '.files[0].rows' "$work/stdout") -gt 3 && $(jq '.files[0].table_bytes' "$work/stdout") -gt 12 ]] || fail "no table"

run inspect --unwind --json framed.so
expect_status "$exit_ok" "frame pointers lead on"
[[ $(jq -r '.files[0].gaps[] | "\(.kind) \(.function)"' "$work/stdout") == "frame-pointer framed" ]] ||
  fail "frame pointers are not reported"

# A frame that changes stacks has a rule of a kind of its own. All the file has its table.
cat >changes.S <<'EOS'
        .text
        .balign 16
        .globl changes
        .type changes, @function
changes:
        .cfi_startproc
        .cfi_signal_frame
        nop
        ret
        .cfi_endproc
        .size changes, . - changes
EOS
link changes.so described.S changes.S
run inspect --unwind changes.so
expect_status "$exit_ok" "a frame of augmentation S"
grep -q 'changes.so: every stack leads through its code$' "$work/stdout" || fail "a frame of augmentation S costs the table"

# Linkers may put code into one segment with data, which is no gap.
cat >data.S <<'EOS'
        .section .rodata
        .zero 5000, 0x55
EOS
link together.so described.S data.S -Wl,-z,noseparate-code -Wl,-z,norelro
run inspect --unwind --json together.so
expect_status "$exit_ok" "code beside data"
[[ $(jq -r '.files[0] | "\(.gap_count) \(.gap_bytes) \(.code_bytes < 100)"' "$work/stdout") == "0 0 true" ]] ||
  fail "data is taken for code: $(cat "$work/stdout")"

# Names come from the file, and must be escaped.
sed 's/bare/"ba\\033[31mre"/; s/\.globl.*//; s/\.type bare.*//' odd.S >hostile.S
cc -shared -nostdlib -Wa,--noexecstack -o hostile.so hostile.S 2>/dev/null && {
  run inspect --unwind hostile.so
  grep -q $'\x1b' "$work/stdout" && fail "an escape sequence on the terminal"
}

# These are several files, one of which is not ELF.
mkdir all
cp described.so odd.so all
echo text >all/text
run inspect --unwind all
expect_status "$exit_error" "a directory"
[[ $(wc -l <"$work/stdout") == 3 ]] || fail "not a line for each library"
run inspect --unwind all/text
expect_status "$exit_error" "a text"
run inspect --unwind nothing
expect_status "$exit_no_target" "no file"
head -c 700 odd.so >cut.so
run inspect --unwind cut.so
expect_status "$exit_error" "a file that was cut"
grep -q 'no stack leads through it: ' "$work/stdout" || fail "the reason is missing"
run inspect --unwind --all odd.so
expect_status "$exit_usage" "--all"
