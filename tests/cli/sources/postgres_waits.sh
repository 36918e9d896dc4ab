# Sessions of PostgreSQL that wait for a row which others hold: how long each statement took, by user
# and query number, is what the server's own statistics say, and nearly all of it is waiting.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/postgres.sh"
need_sampling
need_postgres pg_stat_statements
need_query_numbers
start_postgres -c shared_preload_libraries=pg_stat_statements -c compute_query_id=on
as_admin 'create extension pg_stat_statements' 'create role alice superuser login' \
  'create role bob superuser login' 'create table t (id int, n int)' 'insert into t values (1, 0)'
"$LABELSCOPE" record --mode wall -p "$server" --preset postgres -F 499 -o waits.jsonl >"$work/stdout" 2>"$work/stderr" &
recorder=$!
children+=("$recorder")
said_so() { grep -q '^Recording' "$work/stderr" || too_old_for_waits; }
wait_until "the recording has begun" said_so
skip_before_waits
# Alice holds the row for 50 ms, and gives it back for a moment. Bob wants it again and again.
repeat() { for ((i = 0; i < $1; ++i)); do printf '%s\n' "${@:2}"; done; }
holder="begin; update t set n = n + 1 where id = 1; select pg_sleep(0.05); commit;"
repeat 200 "$holder" | sql -U alice -d postgres >/dev/null 2>&1 &
children+=("$!")
holds() { [[ $(sql -U postgres -c "select wait_event from pg_stat_activity where usename = 'alice'") == PgSleep ]]; }
wait_until "alice holds the row" holds
repeat 40 "update t set n = n + 2 where id = 1; select pg_sleep(0.01);" | sql -U bob -d postgres >/dev/null ||
  fail "bob's statements fail"
kill -INT "$recorder"
finish
expect_status "$exit_ok" "a recording of waits"
expect_ledger waits.jsonl

statistics="from pg_stat_statements s join pg_roles r on r.oid = s.userid where rolname = 'bob' and query like 'update%'"
query=$(sql -U postgres -c "select queryid $statistics")
took=$(sql -U postgres -c "select total_exec_time * 1e6 $statistics")
"$LABELSCOPE" report waits.jsonl --where user=bob --where "query_id=$query" --summary wait --json >update.json \
  2>"$work/stderr" || fail "no report: $(cat "$work/stderr")"
said=$(jq -c '[.time_ns, (.values | map([.value, .time_ns]))]' update.json)
# A statement has its number while it is parsed and when its transaction ends, too.
jq -se --argjson took "$took" '.[0].time_ns / $took | . > 0.95 and . < 1.1' update.json >/dev/null ||
  fail "bob's updates took $took ns, and here $said"
jq -se '.[0] | (.values | map(select(.value == "epoll_wait"))[0].time_ns) > 0.9 * .time_ns' update.json >/dev/null ||
  fail "bob's updates do not wait for his latch: $said"
