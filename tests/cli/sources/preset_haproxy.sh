# CPU time of a stock HAProxy by frontend and backend: only names of its configuration, each backend
# with its frontend, on the thread that serves this frontend, and only where the stack of the sample
# shows that a stream is processed, its data moved, or a connection read or written. HAProxy itself accounts no CPU time.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/servers.sh"
need_sampling
for each in jq python3 haproxy curl ab; do need_command "$each"; done
need_preset haproxy "$(command -v haproxy)"
as_nobody

free_ports 3
cat >"$work/server/defaults.cfg" <<CFG
global
  nbthread 3
defaults
  mode http
  timeout connect 5s
  timeout client 1m
  timeout server 1m
CFG
cat >"$work/server/origin.cfg" <<CFG
defaults
  mode http
  timeout client 1m
frontend origin
  bind $work/server/origin
  http-request return status 200 content-type text/plain string hello
CFG
# each_is <frontend> <backend> <port> <thread>
each_is() {
  cat <<CFG
frontend $1
  bind 127.0.0.1:$3 thread $4
  default_backend $2
backend $2
  server one unix@$work/server/origin
CFG
}
{
  each_is shop carts "${ports[0]}" 1
  each_is bank accounts "${ports[1]}" 2
  each_is depot parcels "${ports[2]}" 3
} >"$work/server/routes.cfg"
serve haproxy -db -f "$work/server/origin.cfg"
serve haproxy -db -f "$work/server/defaults.cfg" -f "$work/server/routes.cfg"
answers() { is_gone "$target" && fail "the server has ended: $(tail -n 5 "$work/server.log")"; curl --silent --fail "http://127.0.0.1:${ports[2]}/" >/dev/null; }
wait_until "the server answers" answers
for each in 5:0 2:1 1:2; do
  client ab -k -c "${each%:*}" -n 5000000 "http://127.0.0.1:${ports[${each#*:}]}/"
done
# A stream whose backend is not chosen yet has its frontend in that place.
cat >"$work/plan" <<PLAN
{"frontend": "shop", "backend": ["shop", "carts"]}
{"frontend": "bank", "backend": ["bank", "accounts"]}
{"frontend": "depot", "backend": ["depot", "parcels"]}
PLAN
have_computed() { (($(server_ticks) >= 30)); }
wait_until "each client is served" have_computed
hold_clients

record_load 300 -p "$target" -F 997 --preset haproxy -o right.jsonl
expect_planned right.jsonl
[[ $(jq -c '.outcomes | keys' "$work/judged") == '["labelled","unlabelled"]' ]] || fail "outcomes: $(jq -c .outcomes "$work/judged")"
expect_covered frontend 35

# --- the stack of each sample says whether a stream is processed
python3 - right.jsonl <<'PYTHON' || fail "labels are not those of a stream that is processed"
import collections, json, sys
kinds = collections.defaultdict(dict)
counts, of, threads = collections.Counter(), collections.Counter(), collections.defaultdict(set)
for line in map(json.loads, open(sys.argv[1])):
    if "id" in line: kinds[line["type"]][line["id"]] = line
for line in map(json.loads, open(sys.argv[1])):
    if line["type"] != "sample": continue
    stack = kinds["stack"][line["stack"]]
    if stack["end"] != "complete": continue
    functions = [f["function"] for one in stack["locations"] for f in kinds["location"][one]["lines"]]
    labels = kinds["labels"][line["labels"]]["labels"]
    labelled = bool(labels)
    works = {"process_stream", "sc_conn_io_cb", "h1_io_cb"} & set(functions)
    for one in labels:
        if one["key"] == "frontend": threads[one["value"]].add(line["thread"])
    # Before a stream is gone its task is; a connection serves nobody between two requests; and around
    # the call there is a task already, or still.
    idle = works == {"h1_io_cb"}
    excused = "stream_free" in functions or idle if not labelled else functions[:1] == ["run_tasks_from_lists"]
    counts[bool(works), labelled, excused] += 1
    of[" and ".join(sorted(works)) or "neither", labelled] += 1
good = counts[True, True, False] + counts[True, True, True]
wrong = counts[True, False, False] + counts[False, True, False]
print(f"{good} samples have labels, {counts[True, False, True]} that free a stream or serve nobody have none; wrong: {wrong}; {dict(of)}")
if good < 500 or of["h1_io_cb", True] < max(100, of["h1_io_cb", False]) or wrong > 0.01 * good: sys.exit(f"{dict(counts)}, {dict(of)}")
if [len(each) for each in threads.values()] != [1, 1, 1] or len(set.union(*threads.values())) != 3:
    sys.exit(f"frontends on threads: {dict(threads)}")
PYTHON

# --- what is processed may be something else than a stream, which has no names
edit_preset haproxy 's/== &process_stream/!= 0/; /^let .*sc_conn_io_cb$/d; s/if s\+0:u8 == 9/if 0 == 0/; s/if s\+[0-9]+->(->)?\+0:u8 == 2//'
record_load 200 -p "$target" -F 997 --preset "$edited" -o wrong.jsonl
judge wrong.jsonl
jq -e '.impossible_samples + .outcomes["not-resident"] + .outcomes.malformed > 0' "$work/judged" >/dev/null ||
  fail "without the condition: $(cat "$work/judged")"
