# If the process does not exist, has ended, or is a thread, the status is 3, and the sentence names
# it.
source "${BASH_SOURCE%/*}/../lib.sh"
true &
gone=$!
wait "$gone"
for pid in "$gone" 4194305; do
  run dump -p "$pid"
  expect_status "$exit_no_target" "-p $pid"
  expect_said "$pid"
  expect_no_stdout
done
# The child has ended and is a zombie, because its parent does not wait for it.
bash -c '(until [[ $(</proc/$$/comm) == sleep ]]; do :; done) & echo $! >pid; exec sleep 1000' \
  </dev/null &
children+=($!)
wait_until "there is a child" test -s pid
zombie=$(<pid)
wait_until "it has ended" eval "[[ \$(state_of $zombie) == Z ]]"
run dump -p "$zombie"
expect_status "$exit_no_target" "a zombie"
expect_said "$zombie has ended"
start_target "$CROWD" --threads 1
run dump -p "$(true_tids)"
expect_status "$exit_no_target" "a thread"
expect_said "process $target"
rm pid
