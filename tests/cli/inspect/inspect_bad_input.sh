# A named file that cannot be inspected gives one clear message and the right status, and the other
# files are inspected all the same.
source "${BASH_SOURCE%/*}/../lib.sh"
good=$BROKEN_TARGETS/good-program

run inspect
expect_status "$exit_usage" "no file"
expect_said 'nothing to inspect'

run inspect ./missing
expect_status "$exit_no_target" "a missing file"
expect_said 'missing.*no such file'
expect_no_stdout

printf 'hello\n' >text
run inspect text "$good"
expect_status "$exit_error" "a text file"
expect_said 'text: not an ELF file'
grep -q 'compliant' "$work/stdout" || fail "the other file was not inspected"

head -c 200 "$good" >cut
run inspect cut
expect_status "$exit_error" "a file that is cut off"
expect_said 'cut: '

# Byte 4 is the class, byte 5 the byte order, byte 18 the processor.
patched() { cp "$good" "$1" && printf "$2" | dd of="$1" bs=1 seek="$3" conv=notrunc status=none; }
patched bits32 '\1' 4
run inspect bits32
expect_status "$exit_error" "32 bits"
expect_said 'bits32: '
patched big '\2' 5
run inspect big
expect_status "$exit_error" "big-endian"
expect_said 'big: '
patched sparc '\2' 18
run inspect sparc
expect_status "$exit_error" "another processor"
expect_shown 'LS001 platform: it is for sparc '
: >empty
run inspect empty
expect_status "$exit_error" "an empty file"

mkfifo fifo
run inspect fifo
expect_status "$exit_error" "a FIFO"
expect_said 'no regular file'

# A name that would move the cursor arrives escaped.
cp text $'evil\e[2J'
run inspect $'evil\e[2J'
expect_said 'evil\\x1b\[2J'
if grep -q $'\e' "$work/stderr"; then fail "an escape sequence on stderr"; fi

cp "$good" secret && chmod 0 secret
if ((EUID != 0)); then
  run inspect secret
  expect_status "$exit_permission" "a file that may not be read"
elif has_other_user; then
  "${drop[@]}" "$work/labelscope" inspect secret >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
  expect_status "$exit_permission" "a file that may not be read"
fi

run inspect --json --details "$good"
expect_status "$exit_usage" "--json with --details"

# A full stdout is an error.
"$LABELSCOPE" inspect "$good" >/dev/full 2>"$work/stderr"
status=$?
expect_status "$exit_error" "a full disk"
expect_said 'stdout'
