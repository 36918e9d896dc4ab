# CPU time of a stock MariaDB by user and database, with a thread for each connection and with a
# pool of threads, while others connect and disconnect: only who was planned, and the shares by user
# are those of USER_STATISTICS. In a stored procedure the user is its definer.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/servers.sh"
need_sampling
need_command jq
need_command python3
for program in mariadbd mariadb-install-db mariadb; do
  command -v "$program" >/dev/null || skip_test "$program is not installed (packages mariadb-server-core and mariadb-client-core)"
done
as_nobody
"${as[@]}" mariadb-install-db --no-defaults --datadir="$work/server/data" --skip-test-db --skip-name-resolve \
  --auth-root-authentication-method=normal >"$work/install" 2>&1 || fail "no database: $(tail -n 3 "$work/install")"

# start_server <option...>
start_server() {
  serve mariadbd --no-defaults --datadir="$work/server/data" --socket="$work/server/socket" --pid-file="$work/server/pid" \
    --skip-networking --skip-log-bin --userstat=1 "$@"
  wait_until "the server answers" answers
}
as_user() { mariadb --no-defaults --socket="$work/server/socket" --user="$@"; }
sql() { as_user root --skip-column-names --batch --execute="$1"; }
answers() { need_server; sql 'select 1' >/dev/null 2>&1; }

# tenant <user> <database> <statement>: sends this in one connection until the test ends.
tenant() {
  mariadb --no-defaults --socket="$work/server/socket" --user="$1" "$2" >/dev/null 2>>"$work/clients" < <(exec yes "$3") &
  clients+=($!)
  children+=($!)
}
work_for() { echo "select benchmark($1, md5('a'));"; }
start_load() {
  tenant alice shop "$(work_for 20000)"
  tenant alice bank "$(work_for 10000)"
  tenant bob bank "$(work_for 10000) do sleep(0.005);"
  # The client connects anew for each statement, to another database.
  tenant carol shop "$(work_for 20000)
connect bank
$(work_for 12000)
connect shop"
  tenant dave shop "call work(); do sleep(0.005);"
}
cat >"$work/plan" <<PLAN
{"user": "alice", "db": "shop"}
{"user": "alice", "db": "bank"}
{"user": "bob", "db": "bank"}
{"user": "carol", "db": "shop"}
{"user": "carol", "db": "bank"}
{"user": "owner", "db": "shop"}
{"user": "dave", "db": "shop"}
PLAN
all_are_there() { [[ $(sql "select count(distinct user) from information_schema.processlist") == 5 ]]; }

# expect_recorded <name>
expect_recorded() {
  start_load
  wait_until "all connections are there" all_are_there
  hold_clients
  sql 'flush user_statistics'
  record_load 400 -p "$target" -F 997 --call-graph none --preset mariadb -o "$1.jsonl"
  # The definer's time is that of its caller.
  sql "select user, cpu_time from information_schema.user_statistics where user <> 'root'" |
    awk '{ printf "{\"time\":%s,\"labels\":{\"user\":%s}}\n", $2, $1 == "dave" ? "[\"dave\",\"owner\"]" : "\"" $1 "\"" }' >"$1.account"
  expect_planned "$1.jsonl" --account "$1.account"
  expect_covered user 95
  expect_covered db 90
  end_clients
}

# --- a thread for each connection
start_server
for user in alice bob carol dave owner; do sql "create user $user; grant all on *.* to $user"; done
sql 'create database shop; create database bank'
# Several statements need another delimiter, which only the client's input can change.
as_user root shop <<SQL || fail "no procedure"
delimiter |
create definer=owner procedure work()
begin
  declare n int;
  select benchmark(10000, md5('a')) into n;
end|
SQL
expect_recorded threads

# --- private labels only when they are named, and then without texts
as_user bob bank --execute="select sleep(600), 'secret'" >/dev/null 2>&1 &
children+=($!)
sleeper() { sql "select id from information_schema.processlist where user = 'bob' and state = 'User sleep'"; }
sleeps() { need_server; [[ -n $(sleeper) ]]; }
wait_until "a statement sleeps" sleeps
labels() { jq -rc '[.threads[].labels | map("\(.key)=\(.value)") | sort | join(" ")] | map(select(. != "")) | .[]' "$work/stdout"; }
run dump --json -p "$target" --preset mariadb
expect_status "$exit_ok" "dump"
[[ $(labels) == "db=bank user=bob" ]] || fail "dump has: $(labels)"
run dump --json -p "$target" --preset mariadb --preset-label query,connection
[[ $(labels) == "connection=$(sleeper) db=bank query=select sleep(?), ? user=bob" ]] || fail "dump has: $(labels)"
# A thread that waits for another connection keeps the number of its last one.
edit_preset mariadb '/^private connection/s/ if .* != 0//'
run dump --json -p "$target" --preset "$edited" --preset-label connection
(($(labels | grep -c '^connection=[0-9]*$') >= 1)) || fail "without the condition dump has: $(labels)"
end_server

# --- a pool of threads, each of which has many connections in turn
start_server --thread-handling=pool-of-threads --thread-pool-size=2
expect_recorded pool
