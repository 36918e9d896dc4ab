# Names of code that a process makes at run time, from the file that it writes: whose file counts,
# and where it is looked for. The program prints itself what it has made, line by line.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
maps=()
trap 'rm -f "${maps[@]}" /dev/shm/labelscope-maker-*; end_test' EXIT
# start_maker <command...>: starts it, with its pid in $target and its lines in $work/lines.
start_maker() {
  "$@" >"$work/lines" 2>"$work/ready" &
  target=$!
  children+=("$target")
  wait_until "the code is made" grep -q ready "$work/ready"
  map=/tmp/perf-$target.map
  maps+=("$map")
}
# expect_names <how>: checks that both functions have samples and their names, and that no name is
# reported missing.
expect_names() {
  for name in 'JS:\*first /srv/a b.js:1:2' 'JS:~second /srv/b.js:3:4'; do
    grep -q ";$name [0-9]*\$" out.folded || fail "$1: no samples in $name: $(cat out.folded)"
  done
  grep -q 'of the frames have a name' "$work/stderr" && fail "$1: names are missed"
  return 0
}
# expect_none <how> <reason>: checks that there are no names, and why.
expect_none() {
  ! grep -q 'JS:' out.folded || fail "$1: there are names: $(cat out.folded)"
  grep -q '\[anon+0x' out.folded || fail "$1: no samples in the code: $(cat out.folded)"
  expect_said "$2"
}
record() { run record -d 1 -F 199 --overwrite "$@" -o out.folded; }

start_maker "$MAKER"
record -p "$target"
expect_none "no file" "% in \[anon\] \(.* frames\): there is no $map with its names: whatever has made the code can write it"
grep -qw 'node\|java' "$work/stderr" && fail "a program in C is told what node does"
# The file is written when the program has run for a long time, as jcmd does.
cp "$work/lines" "$map"
for backend in bpf ptrace; do
  record -p "$target" --backend "$backend"
  expect_names "$backend"
done
# Nothing describes the code, so its caller is found along a frame pointer, and marked so.
for backend in bpf ptrace; do
  run record -d 1 -F 199 --backend "$backend" --call-graph dwarf --overwrite -p "$target" -o out.jsonl
  grep -q '"by_frame_pointer":true' out.jsonl || fail "$backend: no caller is marked"
  grep -q '"name":"fp-frames"' out.jsonl || fail "$backend: the ledger does not count them"
done
run dump --stacks -p "$target"
grep -Eq 'JS:(\*first|~second)' "$work/stdout" || fail "no names in the dump: $(cat "$work/stdout")"

# No terminal and no file may get this name unchanged.
printf '%s \x1b[31mred;\n' "$(sed -n 's/ JS.*first.*//p' "$map")" >>"$map"
record -p "$target"
grep -q $'\x1b' out.folded && fail "an escape sequence in the file"
grep -Fq '\x1b[31mred\x3b' out.folded || fail "the last line does not count: $(cat out.folded)"

# The place of the first function becomes another one's while it is recorded: nothing tells since when.
cp "$work/lines" "$map"
start record -F 199 --overwrite -p "$target" -o out.folded
wait_for_samples
sed -n 's/ JS.*first.*/ JS:later/p' "$work/lines" >>"$map"
wait_until "the target computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
kill -INT "$recorder"
finish
expect_status "$exit_ok" "a place that is used again"
grep -q ';JS:\*first /srv/a b.js:1:2 \[reused\] [0-9]*$' out.folded || fail "the place is not marked: $(cat out.folded)"
grep -q 'JS:later' out.folded && fail "time of the first function is under the name of the second one"
grep -q ';JS:~second /srv/b.js:3:4 [0-9]*$' out.folded || fail "the other place is not as it was: $(cat out.folded)"
expect_said 'their time is under the first, marked \[reused\]'

# This file belongs to another user.
cp "$work/lines" "$map"
if [[ $(id -u) == 0 ]]; then
  chown 65534 "$map"
  record -p "$target"
  expect_none "another user's file" "$map was not read: it belongs neither to the process's user nor to root"
fi
# This is a link, and then a FIFO.
mv "$map" "$work/map"
ln -s "$work/map" "$map"
record -p "$target"
expect_none "a link" "$map was not opened: "
rm "$map"
mkfifo "$map"
record -p "$target"
expect_none "a FIFO" "$map was not opened: "
rm "$map"

# Memory that several processes may share has a file, or looks as if it had one.
for kind in shared huge sysv memfd shm unlinked; do
  kill -KILL "$target" 2>/dev/null
  rm -f "$work/ready"
  "$MAKER" "$kind" >"$work/lines" 2>"$work/ready" &
  target=$!
  children+=("$target")
  made_or_over() { grep -q ready "$work/ready" || is_gone "$target"; }
  wait_until "the code is made" made_or_over
  if is_gone "$target"; then
    echo "not tried: the kernel has no memory of the kind $kind"
    continue
  fi
  map=/tmp/perf-$target.map
  maps+=("$map")
  cp "$work/lines" "$map"
  record -p "$target"
  rm -f /dev/shm/labelscope-maker-*
  expect_names "$kind memory"
done

# A container has its own /tmp and its own numbers. The program itself may lie below the /tmp that
# is hidden then.
if [[ $(id -u) == 0 ]] && unshare --pid --mount --fork true 2>/dev/null; then
  # shellcheck disable=SC2016
  unshare --pid --mount --fork --kill-child bash -c \
    'exec {program}<"$0" && mount -t tmpfs none /tmp && exec "/proc/self/fd/$program" write' "$MAKER" 2>"$work/ready" >/dev/null &
  outside=$!
  children+=("$outside")
  wait_until "the code is made" grep -q ready "$work/ready"
  target=$(cat "/proc/$outside/task/$outside/children")
  target=${target// /}
  [[ ! -e /tmp/perf-1.map && ! -e /tmp/perf-$target.map ]] || fail "the test's /tmp has maps of that name"
  record -p "$target"
  expect_names "in a container"
fi
