# --drop-to: labelscope becomes another user before it reads anything, and can read all the same.
# The same is true if an ordinary user starts a labelscope with file capabilities.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_command jq
# An impossible name is reported before anything is done.
run record -d 1 --drop-to no-such-user-here -p $$ -o out.jsonl
expect_status "$exit_usage" "an unknown user"
expect_said 'drop-to no-such-user-here: there is no such user'
expect_no_files
((EUID == 0)) || skip_test "becoming another user needs root"
getent passwd nobody >/dev/null || skip_test "there is no user nobody"
uid=$(id -u nobody)
chmod 755 "$work" && chmod 1777 "$work/out"
start_target "$CROWD" --threads 2 --stay burn
tids=$(true_tids | jq -s .)
# expect_labelled <file>: checks that enough samples of the labelled threads have labels, and that
# none says that there are none. (With ptrace a thread may stop too late on a busy machine.)
expect_labelled() {
  jq -se --argjson tids "$tids" \
    '([.[] | select(.type == "thread") | select(.tid as $one | $tids | index($one)) | .id])
      as $threads
    | [.[] | select(.type == "sample") | select(.thread as $one | $threads | index($one))] as $samples
    | ([$samples[] | select(.outcome == 0)] | length) > 20
      and ([$samples[] | select(.outcome == 1)] | length) == 0' "$1" >/dev/null ||
    fail "not all samples in $1 are labelled"
}
is_nobody() { [[ $(status_line "/proc/$recorder/status" Uid) == "$uid"$'\t'"$uid"$'\t'"$uid"$'\t'"$uid" ]]; }
backends=()
(need_sampling) >/dev/null && backends+=(bpf)
(need_ptrace) >/dev/null && backends+=(ptrace)
((${#backends[@]})) || skip_test "neither BPF nor ptrace may be used"
for backend in "${backends[@]}"; do
  start record --drop-to nobody --backend "$backend" -F 199 -p "$target" -o "$backend.jsonl"
  wait_until "labelscope is nobody" is_nobody
  [[ $(status_line "/proc/$recorder/status" NoNewPrivs) == 1 ]] || fail "NoNewPrivs is not set"
  [[ " $(status_line "/proc/$recorder/status" Groups) " != *" 0 "* ]] ||
    fail "it is still in root's group"
  [[ $(status_line "/proc/$recorder/status" Gid) != *0$'\t'* ]] || fail "its group is root's"
  wait_until "the target has samples" has_run_until "$target" $(($(cpu_ticks "$target") + 200))
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "as nobody, by $backend"
  expect_labelled "$backend.jsonl"
  expect_named "$backend.jsonl" "$target" "$CROWD"
  # The files belong to that user.
  [[ $(stat -c %u "$backend.jsonl") == "$uid" ]] ||
    fail "$backend.jsonl belongs to $(stat -c %U "$backend.jsonl")"
done
# A number works as well. If that user may not write somewhere, that is reported before sampling.
mkdir "$work/private" && chmod 700 "$work/private"
run record --drop-to "$uid" -d 1 -p "$target" -o "$work/private/out.jsonl"
expect_status "$exit_error" "a folder that the user may not write to"
expect_said 'whom --drop-to names: cannot write .*: Permission denied'
run dump --drop-to nobody -p "$target"
expect_status "$exit_ok" "dump as nobody"
expect_shown 'thread\.0=number-0'

# A user that is not root cannot become another one.
has_other_user || exit 0
"${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" record --drop-to root --backend ptrace \
  -d 1 -o up.jsonl -- true \
  >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
expect_status "$exit_permission" "root, for nobody"
expect_said 'CAP_SETUID'

# With file capabilities their rights are dropped likewise, and root's process is read.
command -v setcap >/dev/null &&
  setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore+ep \
  "$work/labelscope" 2>"$work/stderr" ||
  exit 0
for backend in "${backends[@]}"; do
  "${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" record --backend "$backend" -d 2 -F 199 \
    -p "$target" \
    -o "cap-$backend.jsonl" >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
  expect_status "$exit_ok" "with file capabilities, by $backend"
  expect_labelled "cap-$backend.jsonl"
done
