# While labelscope stands still, a program that loads and unloads plugins makes more mappings than
# the kernel can announce. Samples of that time are in no plugin, rather than in the other one.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
start record -F 499 --variable current:i32 -o lost.jsonl -- "$PLUGIN_PAIR" 6 "$PLUGIN_ONE" "$PLUGIN_TWO"
wait_until "labelscope records" has_begun_or_ended
pause_ms 500
kill -STOP "$recorder"
pause_ms 2500
kill -CONT "$recorder"
finish
expect_status "$exit_ok" "a recording of which labelscope has missed a part"
expect_ledger lost.jsonl
# in_plugin <value of the variable> <plugin>: prints how many samples with that value are there.
in_plugin() {
  jq -se --arg value "$1" --arg plugin "$2" 'def of(what): map(select(.type == what));
    ([of("module")[] | select(.path == $plugin) | .id | tostring] | map({(.): true}) | add) as $modules
    | (of("location") | map({(.id | tostring): ($modules[.module | tostring] == true)}) | add) as $is_there
    | (of("stack") | map({(.id | tostring): any(.locations[]; $is_there[tostring])}) | add) as $stacks
    | (of("labels") | map({(.id | tostring): any(.labels[]; .value == $value)}) | add) as $labels
    | [of("sample")[] | select($labels[.labels | tostring] and $stacks[.stack | tostring]) | .count] | add // 0' lost.jsonl
}
one=$(in_plugin 1 "$PLUGIN_ONE") two=$(in_plugin 2 "$PLUGIN_TWO")
((one > 100 && two > 30)) || fail "$one and $two samples in the plugins that they were in"
wrong=$(($(in_plugin 1 "$PLUGIN_TWO") + $(in_plugin 2 "$PLUGIN_ONE")))
((wrong == 0)) || fail "$wrong samples are in the plugin that they were not in, $one and $two in the right one"
unknown=$(jq -s 'map(select(.type == "ledger"))[0].counters | map(select(.name == "samples-in-lost-mappings"))[0].count' lost.jsonl)
((unknown > 100)) || fail "$unknown samples are said to be in no known mapping"
expect_said 'samples with addresses of which it is not known what was mapped there: '
# What never changes is known all the time, but not who has called code that is not known.
program=$(in_plugin 1 "$PLUGIN_PAIR")
((program >= one / 4)) || fail "only $program samples are known to be in the program, and $one in its plugin"
callers=$(jq -s 'def of(what): map(select(.type == what));
  (of("location") | map({(.id | tostring): (.module == null)}) | add) as $unknown
  | [of("stack")[].locations | .[:-1][] | select($unknown[tostring])] | length' lost.jsonl)
((callers == 0)) || fail "$callers stacks go on behind code that is not known"
