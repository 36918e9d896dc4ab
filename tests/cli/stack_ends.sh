# How many stacks reach the start of their thread is counted, not guessed: of a program without frame pointers none do
# along frame pointers, and all by call frame information, through BPF and through ptrace. Every sample is counted by its
# stack's end.
source "$SOURCE_DIR/lib.sh"
need_sampling
need_command jq
cat >"$work/busy.c" <<'EOF'
static volatile unsigned long turns;
int main(void) {
  for (unsigned long i = 0; i < 3000000000UL; i++) turns++;
  return 0;
}
EOF
cc -O2 -fomit-frame-pointer -o "$work/busy" "$work/busy.c" || skip_test "no compiler"
complete_counted_and_all() {
  jq -sr '.[] | select(.type == "ledger") | [.counters[] | select(.name | startswith("stacks-"))] as $ends
    | "\([$ends[] | select(.name == "stacks-complete") | .count] | add // 0) \([$ends[].count] | add // 0) \(.written)"' "$1"
}
run record -F 499 -d 1 --backend bpf --call-graph fp -o bpf.jsonl -- "$work/busy"
expect_status "$exit_ok" "by frame pointers"
read -r complete counted all < <(complete_counted_and_all bpf.jsonl)
((complete == 0 && all > 20)) || fail "$complete of $all stacks without frame pointers are said to be complete"
((counted == all)) || fail "$counted of $all stacks by frame pointers have an end"
expect_said '^0% of the stacks reach the start of their thread'
for backend in bpf ptrace; do
  run record -d 1 --backend "$backend" -o "$backend-dwarf.jsonl" -- "$work/busy"
  expect_status "$exit_ok" "by call frame information, $backend"
  read -r complete counted all < <(complete_counted_and_all "$backend-dwarf.jsonl")
  ((all > 20 && complete * 10 >= all * 9)) || fail "$backend: $complete of $all stacks that were unwound are complete"
  ((counted == all)) || fail "$backend: $counted of $all stacks that were unwound have an end"
done
run record -d 1 --backend ptrace --call-graph none -o none.jsonl -- "$work/busy"
expect_status "$exit_ok" "without stacks"
read -r complete counted all < <(complete_counted_and_all none.jsonl)
((all > 20 && counted == 0)) || fail "$counted of $all stacks have an end, though none were asked for"
