# A process has more publishers than are read. Whichever address they have, the library that was
# there from the start and has a publisher's name is one of those that are read, and so is a
# variable that the user names. What is not read is named with the reason.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
copies=()
for i in {1..7}; do
  copies+=("$work/libcustomlabels-$i.so")
  cp "$WRITER_LIBRARY" "${copies[-1]}"
done
coproc HOST { exec "$PLUGINS" "${copies[@]}"; }
target=$HOST_PID
children+=("$target")
read -r line <&"${HOST[0]}" && [[ $line == ready ]] || fail "the target does not run: $line"

run record -d 1 -p "$target" -o start.folded --summary from
expect_status "$exit_ok" "more publishers than are read"
expect_shown '^start +100\.0%'
expect_said "warning: labels of $work/libcustomlabels-[1-7]\\.so, $work/libcustomlabels-[1-7]\\.so were not read: more than 6 publishers in one process .*\\(process $target\\)"

run record -d 1 -p "$target" -o named.folded --variable libc.so.6:errno:i32 --summary from,errno
expect_status "$exit_ok" "a variable among more publishers than are read"
expect_shown '^start +100\.0%'
expect_shown '^0 +100\.0%'
expect_said "labels of ($work/libcustomlabels-[1-7]\\.so(, )?){3} were not read"
! grep -q 'no sample has a value' "$work/stderr" || fail "the variable is said to have no value"

run dump -p "$target" --variable libc.so.6:errno:i32
expect_status "$exit_ok" "dump of more publishers than are read"
expect_shown 'errno=0'
expect_shown 'from=start'
exec {HOST[1]}>&-
