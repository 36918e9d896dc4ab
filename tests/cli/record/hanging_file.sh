# A file system that does not answer any more keeps nobody waiting for long: record leaves that
# process out, and has the samples of the others; every other command ends, and gives the reason.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
((EUID == 0)) || skip_test "mounting needs root"
need_command jq
mkdir "$work/mnt"
"$HANGING_FILES" serve "$work/mnt" "$WRITER_LIBRARY" >"$work/served" &
server=$!
children+=("$server")
wait_until "the file system is there, or cannot be" grep -qE 'ready|cannot' "$work/served"
grep -q ready "$work/served" || skip_test "$(cat "$work/served")"
trap 'kill -KILL "$server"; umount -l "$work/mnt"; end_test' EXIT

# One process for each recording, since a file that was left open is not asked for again.
map_file() {
  "$HANGING_FILES" map "$work/mnt/file" >"$work/mapped" &
  hanging=$!
  children+=("$hanging")
  wait_until "the file is mapped" grep -q ready "$work/mapped"
}
"$DEMO_SERVICE" --seconds 300 >"$work/truth" &
target=$!
children+=("$target")
wait_until "the service is ready" grep -qs "^ready" "$work/truth"
map_file
kill -STOP "$server"
wait_until "the server stands still" bash -c "[[ \$(sed 's/.*) //; s/ .*//' /proc/$server/stat) == T ]]"

hangs='has not come back for [0-9]+ s: .*(file system that hangs|userfaultfd)'
one_command() { # status, what it is, argument...
  local SECONDS=0
  run "${@:3}"
  expect_status "$1" "$2"
  expect_said "$hangs"
  ((SECONDS < 45)) || fail "$2: it ended after $SECONDS s only"
}
bpf_goes_on() {
  local SECONDS=0
  run record --backend bpf -d 3 -F 499 -o both.jsonl -p "$target" -p "$hanging"
  expect_status "$exit_error" "a recording of two, of which one hangs"
  expect_said "$hangs.*; process $hanging is left out"
  ((SECONDS < 60)) || fail "it ended after $SECONDS s only"
  jq -se '[.[] | select(.type == "labels")] | length > 1' both.jsonl >/dev/null || fail "no labels of the other"
  jq -se 'map(select(.type == "header"))[0].remarks | any(contains("left out"))' both.jsonl >/dev/null ||
    fail "the recording does not have the reason"
}
ptrace_ends() { one_command "$exit_error" "record by ptrace" record --backend ptrace -d 2 -o p.jsonl -p "$hanging"; }
# It hangs only when the process was planned and sampled: then closing the file hangs at least.
later() {
  local SECONDS=0 folder=$work/folder served=$work/later
  mkdir "$folder"
  "$HANGING_FILES" serve "$folder" "$WRITER_LIBRARY" >"$served" &
  late=$!
  children+=("$late")
  trap 'kill -KILL "$late"; umount -l "$work/folder"; end_children' EXIT
  wait_until "the other file system is there" grep -q ready "$served"
  "$HANGING_FILES" map "$folder/file" >"$work/mapped" &
  target=$!
  children+=("$target")
  wait_until "the file is mapped" grep -q ready "$work/mapped"
  start record --backend bpf -F 499 -d 4 -o later.jsonl -p "$target"
  wait_for_samples
  kill -STOP "$late"
  finish
  ((status == exit_ok || status == exit_error)) || fail "it ended with status $status"
  ((SECONDS < 60)) || fail "it ended after $SECONDS s only"
  jq -se '[.[] | select(.type == "sample") | .count] | add > 100' later.jsonl >/dev/null ||
    fail "the samples are gone"
}
# Labels that cannot be read are those of the waits that are open in the end. Waits that have ended
# are the kernel's totals.
waits_stay() {
  local SECONDS=0 folder=$work/labels served=$work/labels_served
  mkdir "$folder"
  "$HANGING_FILES" serve "$folder" "$WRITER_LIBRARY" >"$served" &
  late=$!
  children+=("$late")
  trap 'kill -KILL "$late"; umount -l "$work/labels"; end_children' EXIT
  wait_until "the third file system is there" grep -q ready "$served"
  "$HANGING_FILES" label "$folder/file" >"$work/labelled" &
  local labelled=$!
  children+=("$labelled")
  wait_until "there is a label in the file" grep -q ready "$work/labelled"
  kill -STOP "$late"
  run record --mode offcpu -d 3 -o waits.jsonl -p "$target" -p "$labelled"
  if too_old_for_waits; then return 0; fi
  expect_status "$exit_error" "a recording of waits whose labels cannot be read"
  expect_said "$hangs"
  ((SECONDS < 60)) || fail "it ended after $SECONDS s only"
  "$LABELSCOPE" report waits.jsonl --summary wait --json >waits.json 2>"$work/stderr"
  # The service's threads wait for 3 s each.
  jq -se '[.[0].values[].time_ns] | add > 2e9' waits.json >/dev/null ||
    fail "the waits are gone: $(jq -c '.values | map([.value, .time_ns])' waits.json)"
}
dump_ends() { one_command "$exit_error" "dump" dump -p "$hanging"; }
stacks_end() { one_command "$exit_error" "dump --stacks" dump --stacks -p "$hanging"; }
doctor_ends() { one_command "$exit_error" "doctor" doctor -p "$hanging"; }
inspect_ends() { one_command "$exit_error" "inspect" inspect "$mnt/file"; }
check_ends() { one_command "$exit_unchecked" "check FILE" check "$mnt/file"; }
mnt=$work/mnt
for each in bpf_goes_on later waits_stay ptrace_ends dump_ends stacks_end doctor_ends inspect_ends check_ends; do
  beside "$each"
done
together
[[ $(state_of "$hanging") == R ]] || fail "the process is in state $(state_of "$hanging")"
exit 0
