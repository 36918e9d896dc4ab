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
"$LABELSCOPE" record --mode offcpu -p "$server" --preset postgres -F 499 -o waits.jsonl >"$work/stdout" 2>"$work/stderr" &
recorder=$!
children+=("$recorder")
said_so() { grep -qE '^Recording|Linux 6.18' "$work/stderr"; }
wait_until "the recording has begun" said_so
if grep -q 'Linux 6.18' "$work/stderr"; then
  skip_test "the kernel lets no thread sample itself (Linux 6.18)"
fi
# Alice holds the row for 50 ms, and gives it back for a moment. Bob wants it all the time.
repeat() { for ((i = 0; i < $1; ++i)); do printf '%s\n' "${@:2}"; done; }
holder="begin; update t set n = n + 1 where id = 1; select pg_sleep(0.05); commit;"
repeat 50 "$holder" | sql -U alice -d postgres >/dev/null &
alice=$!
repeat 200 "update t set n = n + 2 where id = 1;" | sql -U bob -d postgres >/dev/null || fail "bob's statements fail"
wait "$alice" || fail "alice's statements fail"
kill -INT "$recorder"
finish
expect_status "$exit_ok" "a recording of waits"
expect_ledger waits.jsonl

"$LABELSCOPE" report waits.jsonl --where user=bob --summary query_id,wait --json >bob.json 2>"$work/stderr" ||
  fail "no report: $(cat "$work/stderr")"
statistics="from pg_stat_statements s join pg_roles r on r.oid = s.userid where rolname = 'bob' and query like 'update%'"
query=$(sql -U postgres -c "select queryid $statistics")
took=$(sql -U postgres -c "select total_exec_time * 1e6 $statistics")
jq -se --arg query "$query" --argjson took "$took" '.[0].values | map(select(.value == $query))[0].time_ns / $took
  | . > 0.9 and . < 1.02' bob.json >/dev/null ||
  fail "bob's updates took $took ns, and waited for $(jq -c '.values | map([.value, .time_ns])' bob.json)"
jq -se '.[1].values as $waits | ($waits | map(.time_ns) | add) as $all
  | ($waits | map(select(.value == "epoll_wait"))[0].time_ns) > 0.9 * $all' bob.json >/dev/null ||
  fail "bob does not wait for his latch: $(jq -c '.values | map([.value, .time_ns])' bob.json)"
