# CPU time of a stock redis-server by command, user and client: only what the load has planned, on the main thread
# alone, and the shares are those of INFO commandstats. Its program has another name: redis-check-rdb.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
need_command redis-server
need_command redis-cli
need_command python3
redis-server --port 0 --unixsocket "$work/redis" --save '' --appendonly no >"$work/server" 2>&1 &
target=$!
children+=("$target")
redis() { redis-cli -s "$work/redis" "$@"; }
answers() { [[ $(redis ping 2>/dev/null) == PONG ]]; }
wait_until "the server answers" answers
run inspect "$(readlink -f "/proc/$target/exe")"
grep -q "redis .* fits" "$work/stdout" || skip_test "no variant of the preset fits: $(grep redis "$work/stdout")"

redis acl setuser acme on '>pw' '~*' '+@all' >/dev/null
for ((i = 0; i < 3000; i++)); do echo "RPUSH list $((i * 7919 % 3000))"; done | redis >/dev/null
for ((i = 0; i < 1500; i++)); do printf 'ZADD a %d m%d\nZADD b %d m%d\n' $i $i $i $((i * 2)); done | redis >/dev/null
# client <line...>: a connection that sends these lines, and the last one again and again. It is
# started without the function above, so that its number is that of the client, and not of a shell
# around it, which would leave it behind.
client() {
  redis-cli -s "$work/redis" >/dev/null 2>&1 < <(printf '%s\n' "${@:1:$#-1}" && exec yes "${!#}") &
  children+=($!)
}
client 'AUTH acme pw' 'CLIENT SETNAME queue' 'SELECT 0' 'SORT list LIMIT 0 5'
client 'CLIENT SETNAME stats' 'ZINTERSTORE out 2 a b'

expect_recorded() {
  redis config resetstat >/dev/null
  record_for 250 -p "$target" --backend "$1" -F 199 --preset redis -o "$work/$1.jsonl"
  redis info commandstats >"$work/account"
  expect_status "$exit_ok" "record by $1"
  expect_ledger "$work/$1.jsonl"
  python3 - "$work/$1.jsonl" "$work/account" "$target" <<'PYTHON' || fail "record by $1"
import json, re, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sets = {l["id"]: {x["key"]: x["value"] for x in l["labels"]} for l in lines if l["type"] == "labels"}
tids = {line["id"]: line["tid"] for line in lines if line["type"] == "thread"}
planned = {("sort", "acme", "queue", "0"), ("zinterstore", "default", "stats", "0")}
usec = {m[1]: int(m[2]) for m in re.finditer(r"cmdstat_(\w+):calls=\d+,usec=(\d+)", open(sys.argv[2]).read())}
counts = {"sort": 0, "zinterstore": 0}
unnamed = 0
for sample in (line for line in lines if line["type"] == "sample"):
    labels = sets[sample["labels"]]
    if not labels: continue
    if tids[sample["thread"]] != int(sys.argv[3]): sys.exit(f"a thread that is not the first has {labels}")
    who = tuple(labels.get(key) for key in ("command", "user", "client", "db"))
    # The test's own redis-cli runs for a moment.
    if who[2] is None: continue
    # A command that is still read has no name yet.
    if who[0] is None and any(who[1:] == one[1:] for one in planned):
        unnamed += 1
        continue
    if who not in planned: sys.exit(f"no such command of such a client: {who}")
    counts[who[0]] += 1
total = sum(counts.values())
if unnamed > 0.05 * total: sys.exit(f"{unnamed} samples of planned clients without a command, of {total}")
if total < 150: sys.exit(f"only {total} samples with labels")
time = usec["sort"] + usec["zinterstore"]
for command, count in counts.items():
    here, there = count / total, usec[command] / time
    if abs(here - there) > 3 * (here * (1 - here) / total) ** 0.5 + 0.03:
        sys.exit(f"{command}: {here:.3f} of the samples, {there:.3f} of the server's account")
PYTHON
}
expect_recorded ptrace
if (need_sampling >/dev/null); then expect_recorded bpf; fi

# --- other presets do not fit, and it is said why
run dump -p "$target" --preset postgres
expect_status "$exit_error" "a preset that does not fit"
expect_said 'no file of the process is the server of the preset postgres'
run record -p "$target" -d 1s --preset postgres
expect_status "$exit_error" "a preset that does not fit"
run dump -p "$target" --preset nonsense
expect_status "$exit_usage" "no such preset"
expect_said 'there is no preset nonsense; there are .*redis'

# --- another version: refused, never the nearest
sed 's/server.size == [0-9]*/server.size == 12345/' "$(dirname "$LABELSCOPE")/../share/labelscope/presets/redis.preset" >"$work/other.preset"
run dump -p "$target" --preset "$work/other.preset"
expect_status "$exit_error" "no variant fits"
expect_said 'server has [0-9]+ bytes, and known are 12345'
# --- a file that others may write steers nothing
chmod o+w "$work/other.preset"
run dump -p "$target" --preset "$work/other.preset"
expect_status "$exit_usage" "a file that others may write"
expect_said 'chmod go-w'
chmod o-w "$work/other.preset"
echo 'label x = server:u65' >>"$work/other.preset"
run dump -p "$target" --preset "$work/other.preset"
expect_said "other.preset, line $(wc -l <"$work/other.preset"): there is no such type"

# --- auto finds it
run dump --json -p "$target" --preset auto
expect_status "$exit_ok" "auto"
expect_shown '"user","value":"(acme|default)"|labels'
