# The number of stacks that reach the start of their thread is counted, not estimated. For a program
# without frame pointers none do along frame pointers, and all by call frame information, with BPF
# and with ptrace. Every sample is counted by its stack's end. A command begins in the loader, which
# may have frame pointers, so only stacks from the program's own code are judged by what that code
# has.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
cat >"$work/busy.c" <<'EOF'
#include <time.h>
static volatile unsigned long turns;
int main(void) {
  while (clock() < CLOCKS_PER_SEC * 6 / 5) {
    for (int i = 0; i < 1000000; i++) turns++;
  }
  return 0;
}
EOF
cc -O2 -fomit-frame-pointer -o "$work/busy" "$work/busy.c" || skip_test "no compiler"
complete_counted_and_all() {
  jq -sr '.[] | select(.type == "ledger") | [.counters[] | select(.name | startswith("stacks-"))] as $ends
    | "\([$ends[] | select(.name == "stacks-complete") | .count] | add // 0) \([$ends[].count] | add // 0) \(.written)"' "$1"
}
# Prints the samples of the program's own code, and how many of them have a complete stack.
own_and_complete() {
  jq -sr --arg program "$work/busy" 'def of(what): map(select(.type == what));
    [of("module")[] | select(.path == $program) | .id] as $modules
    | [of("location")[] | select(.module as $one | $modules | index($one)) | .id] as $locations
    | [of("stack")[] | select(.locations[0] as $one | $locations | index($one))] as $stacks
    | [of("sample")[] | .stack as $one | .count as $count | $stacks[] | select(.id == $one) | {"end": .end, count: $count}]
    | "\([.[].count] | add // 0) \([.[] | select(.end == "complete") | .count] | add // 0)"' "$1"
}
# The program ends by itself after 1.2 s of CPU time, however long that takes.
run record -F 499 --backend bpf --call-graph fp -o bpf.jsonl -- "$work/busy"
expect_status "$exit_ok" "by frame pointers"
read -r complete counted all < <(complete_counted_and_all bpf.jsonl)
read -r own whole < <(own_and_complete bpf.jsonl)
((own > 100)) || fail "only $own of $all samples are of the program's own code"
((whole == 0)) || fail "$whole of $own stacks without frame pointers are said to be complete"
((counted == all)) || fail "$counted of $all stacks by frame pointers have an end"
# The message about all stacks has the number that was counted.
share=$(sed -n 's/^\([0-9.]*\)% of the stacks reach the start of their thread.*/\1/p' "$work/stderr")
awk -v said="${share:-100}" -v complete="$complete" -v all="$counted" \
  'BEGIN { wrong = said - 100 * complete / all; exit !(wrong < 0.6 && wrong > -0.6) }' ||
  fail "${share:-nothing} % is said, and $complete of $counted stacks are complete"
for backend in bpf ptrace; do
  run record --backend "$backend" -o "$backend-dwarf.jsonl" -- "$work/busy"
  expect_status "$exit_ok" "by call frame information, $backend"
  read -r complete counted all < <(complete_counted_and_all "$backend-dwarf.jsonl")
  ((all > 20 && complete * 10 >= all * 9)) ||
    fail "$backend: $complete of $all stacks that were unwound are complete"
  ((counted == all)) || fail "$backend: $counted of $all stacks that were unwound have an end"
done
run record --backend ptrace --call-graph none -o none.jsonl -- "$work/busy"
expect_status "$exit_ok" "without stacks"
read -r complete counted all < <(complete_counted_and_all none.jsonl)
((all > 20 && counted == 0)) ||
  fail "$counted of $all stacks have an end, though none were asked for"
