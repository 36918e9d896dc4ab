# The program of the archive needs nothing but the kernel: it has no interpreter and no library, and
# works in a root that has /proc, /sys and /dev alone.
source "$SOURCE_DIR/lib.sh"
command -v readelf >/dev/null || skip_test "readelf is not installed"
[[ -z $CFLAGS ]] || skip_test "what is packed is built without sanitizers"
exec {lock}>"$BUILD/.package.lock"
flock "$lock"
cmake --build "$BUILD" --target labelscope_portable >build.log 2>&1 || { cat build.log; fail "it does not build"; }
exec {lock}>&-

mkdir -p root/{proc,sys,dev,tmp,share/labelscope,bin}
strip -o root/bin/labelscope "$BUILD/cli/portable/labelscope"
cp -r "$TREE/reader/presets" root/share/labelscope/
program=$WORK/root/bin/labelscope
readelf --program-headers --dynamic --wide "$program" >headers
! grep -E 'INTERP|NEEDED' headers || fail "it needs something else"
grep -qE 'Type: *DYN|\(FLAGS_1\).*PIE' <(readelf --file-header "$program"; cat headers) ||
  fail "it is at the same addresses each time"
size=$(gzip -9c "$program" | wc -c)
((size < 15000000)) || fail "compressed it has $size bytes"
[[ $("$program" --version) == labelscope\ * ]] || fail "it does not run"

# The kernel's files are bound into the empty root, where nothing else is.
cat >enter.sh <<'EOF_ENTER'
mount --bind /proc root/proc && mount --rbind /sys root/sys && mount --rbind /dev root/dev
exec chroot root /bin/labelscope "$@"
EOF_ENTER
there() { unshare --mount bash enter.sh "$@" >out 2>err; }
there --version || skip_test "no root of its own: $(cat err)"

start_rivals
there dump -p "$target" || { skip_if_refused err; fail "dump: $(cat err)"; }
grep -q ' labelled + ' err || fail "dump says: $(cat err)"
there dump -p "$target" --backend ptrace --stacks || fail "dump --stacks: $(cat err)"
grep -qE '^ +[a-z_]+ \(' out || fail "no function has a name: $(cat out)"
printf 'int main(void) { for (volatile unsigned long i = 0;; i++) {} }\n' >busy.c
"$CC" -O1 -g -o busy busy.c || fail "busy.c"
./busy &
target=$!
children+=("$target")
recorded_by=''
for backend in bpf ptrace; do
  there record -p "$target" -d 1 --backend "$backend" --overwrite -o /tmp/a.jsonl -o /tmp/a.html -o /tmp/a.pb.gz ||
    { grep -qE 'CAP_BPF|not permitted' err && continue; fail "record by $backend: $(cat err)"; }
  recorded_by+=" $backend"
  grep -qE '[1-9][0-9]* stacks = ' err || fail "record by $backend says: $(cat err)"
  # Names come from a worker, which is the same program again.
  there report /tmp/a.jsonl --summary function || fail "report: $(cat err)"
  grep -qE '\bmain\b' out err || fail "report names no function: $(cat out err)"
  [[ -s root/tmp/a.html && -s root/tmp/a.pb.gz ]] || fail "not all files are there"
done
[[ -n $recorded_by ]] || skip_test "sampling is not permitted here"
there doctor
grep -q '^fine *kernel' out || fail "doctor: $(cat out err)"
cp "$(dirname "$BUILD/x")/writer-lib/libcustomlabels.so" root/tmp/
there inspect /tmp/libcustomlabels.so || fail "inspect: $(cat out err)"
there check /tmp/libcustomlabels.so || fail "check: $(cat out err)"
there record --preset no-such -p "$target"
grep -q redis err || fail "its presets are not found beside it: $(cat err)"

# It says where it looks for users, and takes locales that are not there.
there record --drop-to nobody -p "$target" -d 1
grep -q '/etc/passwd' err || fail "--drop-to says: $(cat err)"
mkdir root/etc && echo 'nobody:x:65534:65534::/:/bin/false' >root/etc/passwd && chmod 777 root/tmp
if [[ $recorded_by == *bpf* ]]; then
  there record --drop-to nobody -p "$target" -d 1 --overwrite -o /tmp/b.jsonl || fail "--drop-to: $(cat err)"
  [[ $(stat --format=%u root/tmp/b.jsonl) == 65534 ]] || fail "the file does not belong to that user"
  LC_ALL=xx_XX.UTF-8 there report /tmp/a.jsonl --summary function || fail "report: $(cat err)"
  grep -q '±' err out || fail "a locale of UTF-8 that is not installed: $(cat out err)"
fi

# Debug files come by the command of elfutils, where servers are named.
command -v objcopy >/dev/null || exit 0
objcopy --only-keep-debug busy busy.debug && strip -o stripped busy || fail "busy has no debug file"
kill -KILL "$target"
./stripped &
target=$!
children+=("$target")
mkdir -p commands
# fetch <line of the command>...: records with this debuginfod-find.
fetch() {
  rm -rf commands/debuginfod-find
  [[ -z $* ]] || { printf '%s\n' '#!/bin/sh' "$@" >commands/debuginfod-find && chmod +x commands/debuginfod-find; }
  DEBUGINFOD_URLS=http://127.0.0.1:9/ XDG_CACHE_HOME=$WORK/cache PATH=$WORK/commands:/usr/bin:/bin \
    timeout --signal=KILL 60 "$program" record -p "$target" -d 2 -v --summary function --overwrite -o c.jsonl >out 2>err ||
    fail "record with debuginfod-find: $(cat out err)"
}
if ! PATH=/usr/bin:/bin command -v debuginfod-find >/dev/null; then
  fetch
  grep -q 'debuginfod-find is not installed' err || fail "without debuginfod-find: $(cat err)"
fi
# What it says besides is no path.
fetch '[ "$1" = debuginfo ] || exit 1' 'echo a warning >&2' "echo '$WORK/busy.debug'"
grep -q 'busy.c' c.jsonl || fail "with the file of debuginfod-find: $(cat out err)"
fetch 'echo "Server query failed: No such file or directory" >&2' 'exit 1'
! grep -q 'was not fetched' err || fail "that no server has a file is no problem: $(cat err)"
fetch 'echo "Server query failed: Connection refused" >&2' 'exit 1'
grep -qi 'connection refused' err || fail "a server that refuses: $(cat err)"
fetch 'echo "cannot open shared object file: No such file or directory" >&2' 'exit 127'
grep -q 'shared object' err || fail "a command that does not run: $(cat err)"
fetch 'echo relative/path'
grep -q 'debuginfod-find says: relative/path' err || fail "a path that is none: $(cat err)"
# Who gives up waits for no server, and nothing of the command is left.
printf '%s\n' '#!/bin/sh' 'sleep 1234.5' 'true' >commands/debuginfod-find
DEBUGINFOD_URLS=http://127.0.0.1:9/ PATH=$WORK/commands:/usr/bin:/bin \
  env --default-signal=INT "$program" record -p "$target" -d 2 --overwrite -o c.jsonl >out 2>err &
recorder=$!
children+=("$recorder")
asks() { pgrep --full 'sleep 1234\.5' >/dev/null; }
for ((i = 0; i < 400; i++)); do asks && break; sleep 0.05; done
asks || fail "the command does not run: $(cat err)"
kill -INT "$recorder"
wait "$recorder"
grep -q 'gave up naming' err && [[ -s c.jsonl ]] || fail "Ctrl-C while a server is asked: $(cat err)"
for ((i = 0; i < 100; i++)); do asks || break; sleep 0.05; done
! asks || fail "the command goes on: $(pgrep --full --list-full 'sleep 1234\.5')"
