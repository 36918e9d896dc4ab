# Once it records, labelscope has few rights: the capabilities of the table in docs/security.md, and
# no way to more. It can still do its work: follow processes and libraries that come later. A
# command keeps all of its rights.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_command jq
own=$((16#$(status_line /proc/self/status CapEff)))
# set_of <capability...>: prints those of them that we have ourselves, as a number.
set_of() {
  local one mask=0
  for one; do mask=$((mask | 1 << one)); done
  echo $((mask & own))
}
readonly setgid=6 setuid=7
readonly kill=5 override=1 read_search=2 fowner=3 ptrace=19 nice=23 syslog=34 bpf=39 restore=40

# expect_rights <what> <capability...>: checks the rights of each thread of $recorder.
expect_rights() {
  local what=$1 task name lines bound looked_at=0
  shift
  for task in /proc/"$recorder"/task/*/status; do
    # Threads may end meanwhile, for example the one that reads the kernel's symbols.
    lines=$(cat "$task" 2>/dev/null)
    [[ -n $lines ]] || continue
    looked_at=$((looked_at + 1))
    for name in CapEff CapPrm; do
      [[ $((16#$(status_line - $name <<<"$lines"))) == "$(set_of "$@")" ]] ||
        fail "$what: $name is $(status_line - $name <<<"$lines"), not $(printf %x "$(set_of "$@")")"
    done
    for name in CapInh CapAmb; do
      [[ $(status_line - $name <<<"$lines") == 0000000000000000 ]] ||
        fail "$what: $name is not empty"
    done
    # Dropping it needs CAP_SETPCAP (8). A worker is executed, and has to become nobody.
    bound=0
    [[ " $* " != *" $setuid "* ]] || bound=$(set_of "$setuid" "$setgid")
    ((!(own >> 8 & 1))) || [[ $((16#$(status_line - CapBnd <<<"$lines"))) == "$bound" ]] ||
      fail "$what: CapBnd is $(status_line - CapBnd <<<"$lines")"
    [[ $(status_line - NoNewPrivs <<<"$lines") == 1 ]] || fail "$what: NoNewPrivs is not set"
  done
  ((looked_at > 0)) || fail "$what: labelscope has ended, and no thread of it was looked at"
}
has_dropped() { [[ $(status_line "/proc/$recorder/status" NoNewPrivs) == 1 ]]; }
end_recording() {
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "$1"
}

check_backend() {
  local backend=$1 expected=("${@:2}")
  mkfifo "$work/orders"
  "$LATE_LOADER" "$WRITER_LIBRARY" <"$work/orders" >"$work/said" 2>&1 &
  target=$!
  children+=("$target")
  exec 4>"$work/orders"
  wait_until "the target is ready" grep -q ready "$work/said"
  start record --backend "$backend" -p "$target" -o "$backend.jsonl"
  wait_until "labelscope has dropped its rights" has_dropped
  wait_until "the target has samples" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
  expect_rights "by $backend" "${expected[@]}"
  # A library, and with it labels, come after the drop.
  echo go >&4
  wait_until "the target has loaded the library" grep -q labelled "$work/said"
  wait_until "the target has samples" has_run_until "$target" $(($(cpu_ticks "$target") + 100))
  expect_rights "by $backend, later" "${expected[@]}"
  end_recording "by $backend"
  jq -se '[.[] | select(.type == "sample" and .outcome == 0) | .count] | add > 20' \
    "$backend.jsonl" >/dev/null ||
    fail "by $backend: no labels of a library that is loaded after the drop"
  exec 4>&-
  rm "$work/orders"
}
# Only some kernels and processors need these.
more=()
[[ $(uname -m) == aarch64 ]] && more+=("$nice")
# Root's workers become nobody, who is another user.
workers=()
((EUID != 0)) || workers=("$setuid" "$setgid" "$kill")
more+=(${workers[@]+"${workers[@]}"})
ran=
if (need_sampling) >/dev/null; then
  check_backend bpf "$bpf" "$ptrace" "$read_search" "$restore" "$syslog" ${more[@]+"${more[@]}"}
  ran=1
  # New processes and programs all come after the drop.
  # shellcheck disable=SC2016
  run record -F 499 --backend bpf -o command.jsonl -- bash -c \
    'grep -E "^(Cap|NoNew)" /proc/self/status >"$1"; for i in 1 2 3; do "$0" --threads 2 --ms 400; done' \
    "$LINKED_WRITER_PROGRAM" "$work/status"
  expect_status "$exit_ok" "a command"
  cmp -s <(grep -E '^(Cap|NoNew)' /proc/self/status) "$work/status" ||
    fail "the command has other rights than labelscope was started with: $(cat "$work/status")"
  jq -se '[.[] | select(.type == "sample" and .outcome == 0) | .count] | add > 20' command.jsonl \
    >/dev/null ||
    fail "no labels of programs that are executed after the drop"
  start record --backend bpf -o killed.pb.gz -- sleep 1000
  wait_until "labelscope has dropped its rights" has_dropped
  wait_until "the command runs" has_perf_events
  expect_rights "with a command" "$bpf" "$ptrace" "$read_search" "$restore" "$syslog" "$kill" \
    ${more[@]+"${more[@]}"}
  kill -TERM "$recorder"
  finish
fi
if (need_ptrace) >/dev/null; then
  check_backend ptrace "$ptrace" "$nice" "$read_search" "$restore" ${workers[@]+"${workers[@]}"}
  start_target "$CROWD" --threads 2 --stay burn
  start check -p "$target" --timeout 60 --samples 1000000
  wait_until "check has dropped its rights" has_dropped
  expect_rights "check of a process" "$ptrace" "$nice" "$read_search" "$restore"
  kill -INT "$recorder"
  finish
  ran=1
fi
for command in inspect check; do
  start "$command" /usr /usr/lib /lib
  wait_until "$command has dropped its rights" has_dropped
  expect_rights "$command of files" "$read_search"
  { kill -KILL "$recorder" && wait "$recorder"; } 2>/dev/null
done
[[ -n $ran ]] || skip_test "neither BPF nor ptrace may be used"

# The file is renamed at the end, in a folder where only its owner may write. Two more capabilities
# stay for that.
((EUID == 0 && own >> override & 1)) || exit 0
mkdir foreign && chown 65534:65534 foreign && chmod 755 foreign
start_busy_target
start record --backend ptrace -p "$target" -o foreign/out.pb.gz
wait_until "labelscope has dropped its rights" has_dropped
expect_rights "with an output for another user" "$ptrace" "$nice" "$read_search" "$restore" \
  "$override" "$fowner" "${workers[@]}"
wait_until "the target has samples" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
end_recording "into a folder of another user"
expect_pprof foreign/out.pb.gz
# The output replaces another user's file, which stays that user's.
chown 65534:65534 foreign/out.pb.gz && chmod 600 foreign/out.pb.gz
run record --backend ptrace --mode wall -d 0.5 -p "$target" -o foreign/out.pb.gz --overwrite
expect_status "$exit_ok" "in place of another user's file"
[[ $(stat -c '%u %a' foreign/out.pb.gz) == "65534 600" ]] ||
  fail "the file is now $(stat -c '%u %a' foreign/out.pb.gz)"
