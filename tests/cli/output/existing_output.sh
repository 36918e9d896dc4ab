# An existing file is never overwritten: the status is 1 before sampling, and the file is unchanged.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
echo 'mine' >kept.pb.gz
run record -d 3600 -p "$target" -o kept.pb.gz
expect_status "$exit_error" "-o to an existing file"
expect_said 'kept\.pb\.gz'
[[ $(<kept.pb.gz) == mine ]] || fail "the existing file was changed"
[[ $(ls -A .) == kept.pb.gz ]] || fail "left behind: $(ls -A .)"
