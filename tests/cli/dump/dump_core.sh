# The threads of a core file with the labels that they had, after the process is gone.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command gcore
start_target "$CROWD" --threads 5
gcore -o "$work/core" "$target" >"$work/gcore" 2>&1 || skip_test "gcore does not work here"
kill -KILL "$target" && wait "$target" 2>/dev/null
core=$work/core.$target
run dump --core "$core" --stacks
expect_status "$exit_ok" "dump --core"
expect_shown "^Process $target: "
expect_shown "^  from the core file $core$"
index=0
for tid in $(true_tids); do
  expect_shown "^Thread +$tid  .*thread\.0=number-$index\b"
  index=$((index + 1))
done
expect_shown '^    run_worker \(crowd\.c:[0-9]+\)$'
expect_said '^6 threads = 5 labelled \+ 1 unlabelled \+ 0 unreadable$'
run dump --core "$core" --json
expect_shown '"source":"core",.*"core":\{"path":'
# Without the process's files a place is an offset in one of them, not an address of memory.
mkdir "$work/empty"
run dump --core "$core" --stacks --sysroot "$work/empty"
expect_status "$exit_ok" "without the files"
expect_shown '^    0x[0-9a-f]+ \([^ ()]+\+0x[0-9a-f]{1,7}\)$'
! grep -Eq '\([^ ()]+\+0x[0-9a-f]{8,}\)$' "$work/stdout" || fail "an address for an offset"
# These are no core files.
run dump --core "$CROWD"
expect_status "$exit_error" "a program"
expect_said 'core'
run dump --core "$work/nothing"
expect_status "$exit_no_target" "no file"
expect_said 'nothing'
# The process's files are not in the given places.
for option in --exe --sysroot --files; do
  run dump --core "$core" "$option" "$work/mistyped"
  expect_status "$exit_usage" "$option with a name that nothing has"
  expect_said "$option .*mistyped: there is no such"
  expect_no_stdout
done
run dump --core "$core" --sysroot "$core"
expect_status "$exit_usage" "a file for a folder"
# A core that is cut short never passes for whole.
head -c "$(($(stat -c %s "$core") / 2))" "$core" >"$work/half"
run dump --core "$work/half"
# gdb puts the threads before the memory or behind it.
if ((status == exit_ok)); then
  expect_shown 'cut short'
  expect_said '^6 threads = '
else
  expect_status "$exit_error" "a core that is cut short"
  expect_said 'cut short'
  expect_no_stdout
fi
expect_no_files
