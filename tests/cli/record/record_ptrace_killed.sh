# labelscope is killed in the middle of recordings by ptrace, again and again at random moments. The
# target never stays stopped, never dies, and all its threads work on.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
start_counting 1 3
has_begun() { grep -q '^Recording' "$work/stderr" || is_gone "$recorder"; }
begun=0
turns=$(rounds 24 200)
for ((turn = 1; turn <= turns; turn++)); do
  "$LABELSCOPE" record -p "$target" --backend ptrace --mode wall -F 2000 -o - >/dev/null \
    2>"$work/stderr" </dev/null &
  recorder=$!
  # Every fourth recording may be killed while it starts, the others a moment after they have begun.
  if ((turn % 4)); then
    for ((i = 0; i < 20000; i++)); do
      has_begun && break
      pause_ms 2
    done
  fi
  pause_ms $((RANDOM % 30))
  grep -q '^Recording' "$work/stderr" && ((++begun))
  kill -KILL "$recorder" 2>/dev/null || fail "labelscope ended by itself in turn $turn"
  wait "$recorder" 2>/dev/null
  expect_target_goes_on "after labelscope was killed in turn $turn"
done
((begun * 4 >= turns * 3)) ||
  fail "only $begun of $turns recordings had begun when they were killed"
