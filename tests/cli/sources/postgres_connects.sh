# Connections that live for some milliseconds take over the entries of those before, hundreds a second: no sample has a
# label of the session before, and what is read too early or too late is stale, in the ledger. The user and the database of
# the connection are the process's own variables, so they contradict what an earlier session has left in the entry.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/postgres.sh"
need_sampling
need_postgres pg_stat_statements
need_query_numbers
# A small server forks faster.
start_postgres -c shared_preload_libraries=pg_stat_statements -c max_connections=20 -c shared_buffers=1MB
# Four kinds of sessions. Of two that follow each other in an entry, user, database, application and statement differ.
as_admin 'create extension pg_stat_statements' 'create role amber superuser login' 'create role birch superuser login' \
  'create role cedar superuser login' 'create role daisy superuser login' 'create database north' 'create database south' \
  'create table kind (member text, database text, application text)' \
  "insert into kind values ('amber', 'north', 'a'), ('birch', 'south', 'b'), ('cedar', 'north', 'c'), ('daisy', 'south', 'd')"
# churn <user> <database> <application>: begins and ends sessions of one statement, which says whose it is.
churn() {
  sql -U "$1" -d "$2" -c "create table of_$3 as select g id from generate_series(1, 500) g" || fail "no table"
  echo "select count(*) from of_$3;" >"$work/$3.sql"
  PGAPPNAME=$3 "$bin/pgbench" -h "$work/pg" -U "$1" -n -C -c 1 -T 600 -f "$work/$3.sql" "$2" >"$work/pgbench.$3" 2>&1 &
  children+=($!)
}
churn amber north a
churn birch south b
churn cedar north c
churn daisy south d

sessions() { sql -U postgres -c "select sum(sessions) from pg_stat_database where datname in ('north', 'south')"; }
have_begun() { (($(sessions) >= $1)); }
# record_churn <name> <preset> <sessions>: records until so many sessions have begun, and says how many that is a second.
record_churn() {
  local from began
  start record -p "$server" -F 997 --call-graph none --preset "$2" -o "$work/$1.jsonl"
  wait_until "labelscope records" has_begun_or_ended
  from=$EPOCHREALTIME began=$(sessions)
  wait_until "sessions begin and end" have_begun $((began + $3))
  echo "$(((($(sessions) - began) * 1000000) / (${EPOCHREALTIME/./} - ${from/./}))) connects a second"
  kill -INT "$recorder" 2>/dev/null
  finish
  expect_status "$exit_ok" "record with $2"
  expect_ledger "$work/$1.jsonl"
}
record_churn right postgres "$(rounds 3000 30000)"
as_admin "select json_build_object('user', member, 'user_oid', member::regrole::oid::text, 'role_oid', member::regrole::oid::text,
    'db', database, 'db_oid', d.oid::text, 'application', application, 'query_id', array(select queryid::text
      from pg_stat_statements s where s.dbid = d.oid and query like '%of_' || application))
  from kind join pg_database d on d.datname = database" \
  "select json_build_object('user', 'postgres', 'user_oid', '10', 'role_oid', '10', 'application', 'psql', 'db', 'postgres',
    'db_oid', (select oid::text from pg_database where datname = 'postgres'), 'query_id', array(select queryid::text
      from pg_stat_statements where userid = 10))" >"$work/plan"
judge "$work/right.jsonl"
impossible=$(jq .impossible_samples "$work/judged")
[[ $impossible == 0 ]] || fail "$impossible samples have labels of two sessions"
# A session begins with half of its time in an entry that is not, or not yet, its own.
jq -e '.outcomes.stale > 500 and .outcomes.labelled > 200' "$work/judged" >/dev/null || fail "hardly a sample is stale, or labelled"
jq -e 'select(.type == "ledger") | .outcomes.stale > 500' "$work/right.jsonl" >/dev/null || fail "the ledger has no stale samples"
for each in a b c d; do
  jq -se --arg each "$each" 'any(.[]; .type == "labels" and (.labels | any(.key == "application" and .value == $each) and any(.key == "query_id")))' \
    "$work/right.jsonl" >/dev/null || fail "no sample has the application $each and its query"
done

# --- without the check that the entry is this process's, labels of the session before are there
edit_preset postgres '/^need  be\+4/d'
record_churn wrong "$edited" 300
judge "$work/wrong.jsonl"
(($(jq .impossible_samples "$work/judged") > 50)) || fail "the entry of the session before is no wrong label"
