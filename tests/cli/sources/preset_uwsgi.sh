# CPU time of a stock uWSGI by route: only routes that were asked for, and the shares are those of
# each worker's clock at the beginning and the end of each request.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/servers.sh"
need_sampling
need_command jq
need_command python3
need_command uwsgi
need_preset uwsgi "$(readlink -f "$(command -v uwsgi)")"
as_nobody

cat >"$work/server/app.py" <<'PYTHON'
import fcntl, hashlib, time
# What a request needs before and after the function is in no account, so routes cost about the same.
ROUNDS = {"/checkout": 40, "/cart": 36, "/login": 44, "/search": 38}
def application(env, start_response):
    begin = time.process_time_ns()
    text = route = env["PATH_INFO"]
    for _ in range(ROUNDS[route] * 1000):
        text = hashlib.md5(text.encode()).hexdigest()
    start_response("200 OK", [("Content-Type", "text/plain")])
    with open("account", "a") as account:
        fcntl.flock(account, fcntl.LOCK_EX)
        account.write(f"{route} {(time.process_time_ns() - begin) // 1000}\n")
    return [text.encode()]
PYTHON
free_ports 1
address=127.0.0.1:${ports[0]}
serve uwsgi --plugin python3 --http-socket "$address" --master --processes 2 --wsgi-file app.py --disable-logging
workers() { mapfile -t server < <(pgrep -P "$target"); ((${#server[@]} == 2)); }
wait_until "two workers are there" workers || skip_test "uWSGI does not start: $(tail -n 3 "$work/server.log")"
server+=("$target")

# visit <method> <host> <URI>
visit() {
  client python3 -c '
import http.client, sys
method, host, uri, address = sys.argv[1:]
while True:
    connection = http.client.HTTPConnection(address)
    connection.request(method, uri, headers={"Host": host})
    connection.getresponse().read()' "$@" "$address"
}
visit GET shop.example '/checkout?user=3'
visit GET shop.example '/cart?item=7&next=/login'
visit POST shop.example /login
visit GET api.example '/search?q=shoes'
for each in shop:GET:/checkout shop:GET:/cart shop:POST:/login api:GET:/search; do
  IFS=: read -r host method route <<<"$each"
  echo "{\"host\":\"$host.example\",\"method\":\"$method\",\"route\":\"$route\"}"
done >"$work/plan"
wait_until "each route is asked for" php_has_run 4
hold_clients

rm "$work/server/account"
record_load 400 -p "$target" -F 997 --call-graph none --preset uwsgi -o right.jsonl
php_account >"$work/account"
expect_planned right.jsonl --account "$work/account"
expect_covered route 80
expect_covered host 80

# --- a process without a request has none of the last one
dump_idle uwsgi
! idle_labels | grep -q 'route=' || fail "processes without a request have: $(idle_labels)"

# --- who the client is, is read only if it is named
release_clients
run record -p "$target" -d 1 -F 997 --call-graph none --preset uwsgi --preset-label client -o client.jsonl
grep -q '"key":"client","value":"127.0.0.1"' client.jsonl || grep -q '127\.0\.0\.1' client.jsonl || fail "no client: $(head -c 2000 client.jsonl)"
! grep -q '127\.0\.0\.1' right.jsonl || fail "the client is recorded, and was not asked for"
