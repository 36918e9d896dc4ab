# The disk has no room for all files: the recording is written first, and a file that fails releases
# its room.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command unshare
need_command mount
unshare --mount true 2>/dev/null || skip_test "a file system of its own needs CAP_SYS_ADMIN"
start_busy_target
mkdir "$work/small"
# on_small_disk <KiB> <argument...>: like run, in a folder of this size.
on_small_disk() {
  # shellcheck disable=SC2016  # the inner shell's
  timeout --signal=KILL 90 unshare --mount bash -c '
    mount -t tmpfs -o "size=$1k" none "$2" && cd "$2" && "$3" "${@:4}"
    status=$?
    ls "$2"
    exit $status' on_small_disk "$1" "$work/small" "$LABELSCOPE" "${@:2}" >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
}
# For half a second, a page has at least 100 KiB, and the others some KiB.
on_small_disk 64 record -d 500ms -p "$target" -o a.html -o b.jsonl -o c.folded
expect_status "$exit_error" "no room for the page"
expect_said 'cannot write a.html: No space left on device'
expect_said '^Wrote b.jsonl'
expect_said '^Wrote c.folded'
[[ $(cat "$work/stdout") == $'b.jsonl\nc.folded' ]] || fail "not the two files that have room"
# Without the recording, the file after the page gets the room that the page released.
on_small_disk 64 record -d 500ms -p "$target" -o a.html -o c.folded
expect_status "$exit_error" "no room for the page, again"
[[ $(cat "$work/stdout") == c.folded ]] || fail "not the one file that has room"
