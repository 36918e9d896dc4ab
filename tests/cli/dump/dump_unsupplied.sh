# Memory that is never supplied keeps dump waiting while it holds a thread. Ctrl-C ends that, and so
# do SIGTERM and SIGHUP; the thread runs on.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/unsupplied.sh"
start_unsupplied
for signal in INT TERM HUP; do
  start dump --backend ptrace -p "$target"
  wait_until "the thread is held" target_is_held
  kill -"$signal" "$recorder"
  finish
  expect_status $((128 + $(kill -l "$signal"))) "the death by SIG$signal"
  wait_until "the thread goes on" target_goes_on
done
