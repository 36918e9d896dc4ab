# A directory is searched with all below it: each file once, loops and other files silently skipped,
# problems named.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
mkdir -p tree/a/b tree/bin
cp "$BROKEN_TARGETS/good-program" tree/bin/service
cp "$BROKEN_TARGETS/libcustomlabels-large.so" tree/a/b/libcustomlabels.so
ln tree/a/b/libcustomlabels.so tree/a/again.so
cp "$BROKEN_TARGETS/wrong-version" tree/a/wrong
cp "$BROKEN_TARGETS/no-publisher" tree/a/unrelated
printf 'text\n' >tree/a/readme
ln -s .. tree/a/b/up
ln -s b/libcustomlabels.so tree/a/0-link.so
ln -s nowhere tree/a/dangling
mkfifo tree/a/fifo
head -c 100 "$BROKEN_TARGETS/good-program" >tree/a/cut

run inspect --json tree
expect_status "$exit_ok" "a tree with publishers"
jq -e '.format == "labelscope-inspect" and .version == 1' "$work/stdout" >/dev/null ||
  fail "no schema"
found=$(jq -r '.files[] | "\(.path) \(.verdict)"' "$work/stdout")
# The hard link comes first by name.
expected=$'tree/a/again.so readable\ntree/a/wrong broken\ntree/bin/service compliant'
[[ $found == "$expected" ]] || fail "found: $found"
[[ $(jq -r '.problems[] | "\(.path) \(.named)"' "$work/stdout") == "tree/a/cut false" ]] ||
  fail "problems: $(jq .problems "$work/stdout")"
(($(jq .publishing "$work/stdout") == 2)) || fail "not two that publish"

run inspect --all tree
expect_status "$exit_ok" "--all"
grep -q 'unrelated' "$work/stdout" || fail "--all leaves a file out"
grep -q 'readme' "$work/stdout" && fail "--all shows a text file"
(($(wc -l <"$work/stdout") >= 6)) || fail "the table is too short"
expect_said '2 publish'

run inspect tree
grep -q 'unrelated' "$work/stdout" && fail "a file that publishes nothing is shown"
run inspect -q tree
grep -q 'looked at' "$work/stderr" && fail "--quiet is not"

mkdir none && cp tree/a/unrelated none
run inspect none
expect_status "$exit_error" "a tree without publishers"
expect_no_stdout

# Named files are reported even if the directory has them, and under each of their names.
run inspect --json tree tree/a/b/libcustomlabels.so tree/a/again.so
expect_status "$exit_ok" "a directory and files of it"
found=$(jq -r '.files[].path' "$work/stdout")
expected=$'tree/a/b/libcustomlabels.so\ntree/a/again.so\ntree/a/wrong\ntree/bin/service'
[[ $found == "$expected" ]] || fail "named and found: $found"

# Files that the kernel makes up are neither opened nor listed, whether they are named, in a named
# directory, or below one.
run inspect /proc/version
expect_status "$exit_error" "a file of /proc"
expect_said '/proc/version: lies in a file system that the kernel makes up'
run inspect /proc/sys/kernel
expect_status "$exit_error" "a folder of /proc"
expect_said '/proc/sys/kernel: has no files that are stored'
mkdir -p host/kernel && cp tree/bin/service host
ln -s /proc/version host/link
if unshare -rm true 2>/dev/null; then
  unshare -rm bash \
    -c 'mount --bind /proc/sys/kernel host/kernel && exec "$LABELSCOPE" inspect --json host' \
    >"$work/stdout" 2>"$work/stderr" </dev/null || fail "a tree with a part of /proc in it"
  (($(jq .looked_at "$work/stdout") == 1)) ||
    fail "looked at $(jq .looked_at "$work/stdout") files of one"
  (($(jq '.problems | length' "$work/stdout") == 0)) ||
    fail "problems: $(jq .problems "$work/stdout")"
fi
