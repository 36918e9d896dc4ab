# What the user names is opened with the user's own rights, also where the file labelscope has
# capabilities (setcap); and what comes from anywhere is read without any right, also by root. The
# process that reads foreign files is nobody where root starts it.
source "${BASH_SOURCE%/*}/../lib.sh"
need_other_user
need_command jq
need_command setcap
need_sampling
chmod 755 "$work/out"
secret=$work/secret
mkdir -m 0700 "$secret"
start_busy_target
run record --backend bpf -F 499 -d 1 -o "$secret/b.jsonl" -p "$target"
expect_status "$exit_ok" "a recording"
printf 'key,hunter2zz\nalice,hunter2zz\n' >"$secret/pw.csv"
cp "$secret/b.jsonl" own.jsonl && chmod 644 own.jsonl
setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore+ep \
  "$work/labelscope" 2>"$work/stderr" || skip_test "setcap: $(<"$work/stderr")"
chmod 777 "$work/out"

as_user() { # argument...
  "${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
}
refuses() { # what, argument...
  as_user "${@:2}"
  ((status != 0)) || fail "$1: it exits with 0"
  ! grep -q hunter2zz "$work/stdout" "$work/stderr" || fail "$1: it shows the secret"
  grep -q 'Permission denied' "$work/stderr" || fail "$1: not the reason"
}
refuses "report of a recording" report "$secret/b.jsonl" -o copy.jsonl
refuses "diff" diff own.jsonl "$secret/b.jsonl"
refuses "a list of names" report own.jsonl --names "tenant=$secret/pw.csv" --summary tenant
refuses "a list of names of record" record -d 1 --names "tenant=$secret/pw.csv" -o x.jsonl -p $$
refuses "a baseline" check --baseline "$secret/pw.csv" "$work/labelscope"
refuses "inspect" inspect "$secret/pw.csv"
refuses "a core" dump --core "$secret/pw.csv"
[[ ! -e copy.jsonl ]] || fail "report has copied the recording"
as_user complete -- report "$secret/b.jsonl" --summary ''
jq -r 'select(.type == "labels") | .labels[].key' "$secret/b.jsonl" | sort -u >"$work/keys"
! grep -Fxf "$work/keys" <(cut -f 1 "$work/stdout") || fail "completion shows keys of the recording"
as_user report own.jsonl --summary comm
expect_status "$exit_ok" "the user's own recording"
# The rights are there for what they are lent for.
as_user record --backend bpf -d 1 -F 499 -o lent.jsonl -p "$target"
expect_status "$exit_ok" "a process of root, by file capabilities"
# A folder of tables that the user cannot reach is not asked for, and gets no table, whose ever it is.
mkdir "$secret/mine"
chown 65534 "$secret/mine"
for folder in "$secret/mine" "$secret/none"; do
  as_user record --backend bpf -d 1 -F 499 --unwind-cache "$folder" -o lent.jsonl --overwrite -p "$target"
  expect_status "$exit_ok" "$folder is no place for tables"
  expect_said "$folder: Permission denied"
done
[[ -z $(ls -A "$secret/mine") ]] || fail "a table is in a folder that the user cannot reach"

# Root's report has no right left when it reads: a pipe that nobody writes to shows that.
mkfifo pipe
exec 7<>pipe
for command in "report pipe --summary comm" "diff own.jsonl pipe"; do
  # shellcheck disable=SC2086  # several words
  start $command
  wait_until "$command reads" bash -c "grep -qs pipe_read /proc/$recorder/wchan ||
    [[ \$(cut -d ' ' -f 1 /proc/$recorder/syscall 2>/dev/null) == 0 ]]"
  for set in CapEff CapPrm CapInh CapAmb; do
    [[ $(status_line "/proc/$recorder/status" $set) == 0000000000000000 ]] ||
      fail "$command of root has $set $(status_line "/proc/$recorder/status" $set)"
  done
  { kill -KILL "$recorder" && wait "$recorder"; } 2>/dev/null
done
exec 7>&-

# The workers of root.
worker_is_nobody() {
  local worker
  for worker in $(pgrep -P "$recorder"); do
    [[ $(status_line "/proc/$worker/status" Uid) == 65534$'\t'65534$'\t'65534$'\t'65534 ]] &&
      [[ $(status_line "/proc/$worker/status" Gid) == 65534$'\t'65534$'\t'65534$'\t'65534 ]] &&
      [[ -z $(status_line "/proc/$worker/status" Groups | tr -d ' ') ]] &&
      [[ $(status_line "/proc/$worker/status" CapPrm) == 0000000000000000 ]] &&
      [[ $(status_line "/proc/$worker/status" Seccomp) == 2 ]] && return
  done
  return 1
}
for backend in bpf ptrace; do
  start record --backend "$backend" -F 199 -p "$target" -o "worker-$backend.jsonl"
  wait_until "a worker of root is nobody ($backend)" worker_is_nobody
  workers=$(pgrep -P "$recorder")
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "a recording with workers, by $backend"
  jq -se '[.[] | select(.type == "location") | .lines[]?.function] | length > 0' \
    "worker-$backend.jsonl" >/dev/null || fail "no name was found by a worker that is nobody"
  for worker in $workers; do wait_until "worker $worker has ended" is_gone "$worker"; done
done
exit 0
