# Among programs that want the same processors labelscope runs first where it may, and the programs
# that it starts do not.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command setpriv
(($(nice) == 0)) || skip_test "the test itself has the nice value $(nice)"
((16#$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) >> 23 & 1)) ||
  skip_test "going first needs CAP_SYS_NICE"
# This is field 19 of proc(5).
nice_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $17 }'; }

start_busy_target
# expect_nice <expected> <when> <words before labelscope...>: checks the nice value.
expect_nice() {
  local expected=$1 when=$2
  shift 2
  "$@" "$LABELSCOPE" record -p "$target" --overwrite -o nice.jsonl \
    >"$work/stdout" 2>"$work/stderr" </dev/null &
  recorder=$!
  children+=("$recorder")
  wait_for_samples
  local nice
  nice=$(nice_of "$recorder")
  kill -TERM "$recorder"
  finish
  expect_status "$exit_ok" "$when"
  [[ $nice == "$expected" ]] ||
    fail "$when: a nice value of $nice while it samples, expected $expected"
}
expect_nice -20 "with CAP_SYS_NICE" env
expect_nice 0 "without CAP_SYS_NICE" setpriv --bounding-set=-sys_nice
expect_nice 5 "made less urgent by its user" nice -n 5

run record --overwrite -o command.jsonl -- sh \
  -c 'nice >nice; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
[[ $(cat nice) == 0 ]] || fail "the command has a nice value of $(cat nice), expected 0"
