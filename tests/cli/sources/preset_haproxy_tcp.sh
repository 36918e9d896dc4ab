# TCP frontends of a stock HAProxy beside an HTTP one: only names of its configuration, each backend with
# its frontend. Two frontends on one thread have shares like the requests that went through them, as the
# HAProxy behind them counts these. Health checks and connections of milliseconds give no other names.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/servers.sh"
need_sampling
for each in jq python3 haproxy curl ab; do need_command "$each"; done
need_preset haproxy "$(command -v haproxy)"
as_nobody

free_ports 4
# The origin counts what each of its frontends is asked.
{
  cat <<CFG
global
  nbthread 1
  stats socket $work/server/stats
defaults
  mode http
  timeout client 1m
CFG
  for each in letters rooms moments carts; do
    cat <<CFG
frontend $each
  bind $work/server/$each
  http-request return status 200 content-type text/plain string hello
CFG
  done
} >"$work/server/origin.cfg"
# each_is <mode> <frontend> <backend> <port> <thread>
each_is() {
  cat <<CFG
frontend $2
  mode $1
  bind 127.0.0.1:$4 thread $5
  default_backend $3
backend $3
  mode $1
  server one unix@$work/server/$3 check inter 20
CFG
}
{
  cat <<CFG
global
  nbthread 2
defaults
  timeout connect 5s
  timeout client 1m
  timeout server 1m
CFG
  each_is tcp mail letters "${ports[0]}" 1
  each_is tcp chat rooms "${ports[1]}" 1
  each_is tcp brief moments "${ports[2]}" 2
  each_is http shop carts "${ports[3]}" 2
} >"$work/server/routes.cfg"
serve haproxy -db -f "$work/server/origin.cfg"
serve haproxy -db -f "$work/server/routes.cfg"
answers() { need_server && curl --silent --fail "http://127.0.0.1:${ports[3]}/" >/dev/null; }
wait_until "the server answers" answers
# All clients of these two are alike, and mail has three times as many.
for each in 0 0 0 1; do client ab -k -c 2 -n 5000000 "http://127.0.0.1:${ports[$each]}/"; done
client ab -c 2 -n 5000000 "http://127.0.0.1:${ports[2]}/"
client ab -k -c 1 -n 5000000 "http://127.0.0.1:${ports[3]}/"
cat >"$work/plan" <<PLAN
{"frontend": "mail", "backend": ["mail", "letters"]}
{"frontend": "chat", "backend": ["chat", "rooms"]}
{"frontend": "brief", "backend": ["brief", "moments"]}
{"frontend": "shop", "backend": ["shop", "carts"]}
PLAN
have_computed() { need_server && (($(server_ticks) >= 30)); }
wait_until "each client is served" have_computed
hold_clients

# requests <file>: writes how many requests the origin has had of mail and of chat.
requests() {
  python3 - "$work/server/stats" >"$1" <<'PYTHON' || fail "HAProxy says nothing on its socket"
import csv, socket, sys
of = {"letters": "mail", "rooms": "chat"}
with socket.socket(socket.AF_UNIX) as stats:
    stats.connect(sys.argv[1])
    stats.sendall(b"show stat\n")
    text = b"".join(iter(lambda: stats.recv(65536), b"")).decode()
for row in csv.DictReader(text.lstrip("# ").splitlines()):
    if row["svname"] == "FRONTEND" and row["pxname"] in of:
        print(of[row["pxname"]], row["req_tot"])
PYTHON
}
requests "$work/before"
record_load 300 -p "$target" -F 997 --preset haproxy -o tcp.jsonl
requests "$work/after"
join <(sort "$work/before") <(sort "$work/after") | awk '{
  printf "{\"time\":%d,\"labels\":{\"frontend\":\"%s\"}}\n", $3 - $2, $1 }' >"$work/account"
expect_planned tcp.jsonl
[[ $(jq -c '.outcomes | keys' "$work/judged") == '["labelled","unlabelled"]' ]] || fail "outcomes: $(jq -c .outcomes "$work/judged")"
expect_covered frontend 50

# --- the stack of each sample says whether data of a stream is moved
python3 - tcp.jsonl "$work/account" <<'PYTHON' || fail "labels are not those of the stream whose data is moved"
import collections, json, sys
kinds, lines = collections.defaultdict(dict), list(map(json.loads, open(sys.argv[1])))
for line in lines:
    if "id" in line: kinds[line["type"]][line["id"]] = line
moved, times, threads = collections.Counter(), collections.Counter(), collections.defaultdict(set)
for line in lines:
    if line["type"] != "sample": continue
    stack = kinds["stack"][line["stack"]]
    functions = {f["function"] for one in stack["locations"] for f in kinds["location"][one]["lines"]}
    labels = {one["key"]: one["value"] for one in kinds["labels"][line["labels"]]["labels"]}
    frontend = labels.get("frontend")
    if frontend: threads[frontend].add(line["thread"])
    if stack["end"] == "complete" and "sc_conn_io_cb" in functions:
        moved[frontend if "backend" in labels else None] += line["count"]
    times[frontend] += line["weight_ns"]
without, of_all = moved[None], sum(moved.values())
account = {row["labels"]["frontend"]: row["time"] for row in map(json.loads, open(sys.argv[2]))}
share = times["mail"] / (times["mail"] + times["chat"])
truth = account["mail"] / sum(account.values())
print(f"{of_all} samples move data, {without} of them without labels; {dict(moved)}; mail has {share:.3f}, by the origin {truth:.3f}")
if of_all < 500 or without > 0.01 * of_all: sys.exit("samples without labels")
# What a request costs depends a little on how many are ready at once.
if abs(share - truth) > 0.03: sys.exit("shares are not those of the requests")
if threads["mail"] != threads["chat"] or len(threads["mail"]) != 1 or threads["mail"] & threads["brief"]:
    sys.exit(f"frontends on threads: {dict(threads)}")
PYTHON

# --- other tasks have other contexts, in which there is no stream
edit_preset haproxy 's/== &sc_conn_io_cb/!= 0/; s/if s\+0:u8 == 9/if 0 == 0/; s/if s\+[0-9]+->(->)?\+0:u8 == 2//'
record_load 100 -p "$target" -F 997 --preset "$edited" -o wrong.jsonl
judge wrong.jsonl
jq -e '.impossible_samples + .outcomes["not-resident"] + .outcomes.malformed > 0' "$work/judged" >/dev/null ||
  fail "without the conditions: $(cat "$work/judged")"
