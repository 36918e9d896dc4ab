# A directory is searched with all below it: each file once, loops and strangers in silence, problems named.
source "$SOURCE_DIR/lib.sh"
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
jq -e '.format == "labelscope-inspect" and .version == 1' "$work/stdout" >/dev/null || fail "no schema"
found=$(jq -r '.files[] | "\(.path) \(.verdict)"' "$work/stdout")
# The hard link comes first by name.
expected=$'tree/a/again.so readable\ntree/a/wrong broken\ntree/bin/service compliant'
[[ $found == "$expected" ]] || fail "found: $found"
[[ $(jq -r '.problems[] | "\(.path) \(.named)"' "$work/stdout") == "tree/a/cut false" ]] || fail "problems: $(jq .problems "$work/stdout")"
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
