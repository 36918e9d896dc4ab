# Unwind tables are built in a process without rights. It exists while labelscope records, and a
# file that gives no table is named with the reason.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_sampling
need_command jq
mkdir "$work/many"
mkfifo "$work/mapper_stdin"
# Each of its files is the first page of a program.
"$MAPPER" many 20 "$work/many" <"$work/mapper_stdin" >"$work/mapper_said" &
target=$!
children+=("$target")
exec 7>"$work/mapper_stdin"
wait_until "files are mapped" grep -qs ready "$work/mapper_said"

start record --backend bpf --call-graph dwarf -d 30 -o out.jsonl -p "$target"
builder_of() { builder=$(pgrep -P "$recorder" -x labelscope-file | head -n 1) && [[ -n $builder ]]; }
sealed() { builder_of && [[ $(status_line "/proc/$builder/status" Seccomp) == 2 ]]; }
wait_until "a worker without rights builds tables" sealed
[[ $(status_line "/proc/$builder/status" CapEff) =~ ^0+$ ]] || fail "it has capabilities"
wait_for_samples
kill -INT "$recorder"
finish
expect_status "$exit_ok" "with files that have no table"
expect_ledger out.jsonl
jq -se 'map(select(.type == "header"))[0].call_graph == "dwarf"' out.jsonl >/dev/null ||
  fail "stacks are of another kind"
(($(grep -c "no stack leads through $work/many/[0-9]*.so: " "$work/stderr") == 8)) ||
  fail "files without table are not named"
expect_said 'and through 12 more'
exit 0
