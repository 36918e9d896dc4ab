# A program that unloads a plugin and loads another one at its place: until labelscope has read that,
# the table of the first one is in the other one's place. No stack has a caller by it.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
run record --backend bpf -F 2999 -o swapped.jsonl -- "$SWAPPED_PAIR" 4 "$SWAPPED_ONE" "$SWAPPED_TWO"
expect_status "$exit_ok" "a recording of a program that swaps plugins"
swaps=$(sed -n 's/ times at the place of the other one$//p' "$work/stdout")
((swaps > 100)) || skip_test "the plugins do not come to the same place"
expect_ledger swapped.jsonl
# Prints: samples in a plugin; those of which main() is the caller; those that end in the plugin
# because it was loaded a moment ago; all others.
read -r all right cut < <(jq -sr 'def of(what): map(select(.type == what));
  ([of("module")[] | select(.path | test("swapped_(one|two)")) | .id]) as $plugins
  | (of("location") | map({(.id | tostring): {plugin: (.module as $m | $plugins | index($m) != null), name: (.lines[0].function // "")}}) | add) as $at
  | (of("stack") | map({(.id | tostring): {"end": .end, frames: [.locations[] | $at[tostring]]}}) | add) as $stacks
  | [of("sample")[] | {count, stack: $stacks[.stack | tostring]} | select(any(.stack.frames[]; .plugin))] as $in
  | [$in, [$in[] | select([.stack.frames[] | select(.plugin | not) | .name] as $outer
                          | ($outer | index("decoy")) == null and ($outer | index("main")) != null and .stack.end == "complete")],
     [$in[] | select(.stack.end == "no-mapping" and .stack.frames[-1].plugin)]]
  | map([.[].count] | add // 0 | tostring) | join(" ")' swapped.jsonl)
others() {
  jq -sr 'def of(what): map(select(.type == what));
    (of("location") | map({(.id | tostring): (.lines[0].function // "?")}) | add) as $at
    | of("stack")[] | .end + ": " + ([.locations[] | $at[tostring]] | join(" "))' swapped.jsonl | sort | uniq -c | sort -rn
}
echo "$all samples in plugins that were swapped $swaps times: $right with their caller, $cut without"
((all > 1000)) || fail "only $all samples are in a plugin"
others | grep -q decoy && fail "a function that is never called is a caller: $(others)"
# Those of a moment at which a table is missing.
rest=$((all - right - cut))
((rest * 50 <= all)) || fail "$rest of $all stacks end otherwise: $(others)"
((right > 50)) || fail "only $right of $all stacks have their caller: $(others)"
