# A thousand threads as JSON, compared with what each has printed about itself, byte by byte.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command python3
start_target "$CROWD" --threads 1000
run dump --json --backend ptrace -p "$target"
expect_status "$exit_ok" "dump --json"
(($(wc -l <"$work/stdout") == 1)) || fail "not one line"
python3 - "$work/truth" "$work/stdout" <<'END' || fail "the JSON is not the truth"
import base64, json, sys
def data(value):
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value.encode()
truth = {}
for line in open(sys.argv[1]):
    if line.startswith('{"tid"'):
        thread = json.loads(line)
        truth[thread["tid"]] = thread
dump = json.load(open(sys.argv[2]))
assert dump["format"] == "labelscope-dump" and dump["version"] == 1, dump["format"]
assert dump["source"] == "ptrace" and dump["refusal"] == "" and dump["core"] is None
assert len(dump["publishers"]) == 1 and dump["absence"] == ""
seen = {thread["tid"]: thread for thread in dump["threads"]}
assert len(truth) == 1000 and len(seen) == 1001
for number, (tid, expected) in enumerate(truth.items()):
    thread = seen[tid]
    assert thread["outcome"] == "labelled" and thread["name"] == f"crowd-{number}", thread
    assert int(thread["thread_pointer"], 16) == expected["tp"], thread
    assert thread["held_ns"] > 0 and thread["state"] in "RS", thread
    shown = [(data(l["key"]), data(l["value"])) for l in thread["labels"]]
    told = [(bytes.fromhex(l["key"]), bytes.fromhex(l["value"])) for l in expected["variables"][0]["labels"]]
    assert shown == told, (shown, told)
totals = dump["totals"]
assert totals["threads"] == 1001 and totals["stopped"] == 1001, totals
assert totals["outcomes"]["labelled"] == 1000 and totals["outcomes"]["unlabelled"] == 1, totals
held = sorted(thread["held_ns"] for thread in dump["threads"])
# A stop that came too late is the longest of all, and belongs to no thread.
assert totals["longest_stop_ns"] >= held[-1] and totals["median_stop_ns"] == held[500], totals
END
expect_said '^1,001 threads = 1,000 labelled'
# This dump has all parts that a dump can have.
run dump --json --stacks --explain -p "$target"
expect_status "$exit_ok" "dump --json --stacks --explain"
python3 - "$work/stdout" <<'END' || fail "fields are missing"
import json, sys
dump = json.load(open(sys.argv[1]))
assert dump["explanation"]["steps"] and isinstance(dump["explanation"]["findings"], list)
assert dump["modules"]
for thread in dump["threads"]:
    assert thread["explanation"]["steps"], thread
    assert thread["stack"]["frames"] or thread["stack"]["cut"], thread
    for frame in thread["stack"]["frames"]:
        assert frame["module"] is None or frame["module"] < len(dump["modules"])
END
