# What `dump` says of each kind of backend of a stock PostgreSQL, and `record --backend ptrace` of all of them: labels are what
# the load has planned, never others. postgres_shares.sh does the same by BPF, and with accounts of queries.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/postgres.sh"
need_postgres pg_stat_statements
start_postgres -c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track_planning=on
sql -U postgres -c 'create extension pg_stat_statements' -c 'create role alice superuser login' -c 'create role bob superuser login' \
  -c 'create role worker' -c 'create database shop' -c 'create database bank' || fail "the load cannot be prepared"
for database in shop bank; do
  sql -U postgres -d "$database" -c "create table t as select g id, md5(g::text) s from generate_series(1, 4000) g" || fail "no table"
done

# Few rows are sent, so that a backend computes for most of its time.
statement="select count(*) from t a join t b on a.s > b.s and b.id < 60"
session alice shop web "$statement where a.id > 0;"
session alice shop batch "select sum(length(a.s || b.s)) from t a join t b on b.id < 90;"
session bob bank web "$statement where a.id > 1;"

# --- what the preset says now, and about whom
wait_until "bob's backend is there" has_backends bob web
run dump --json -p "$(backends bob web)" --preset postgres
expect_status "$exit_ok" "dump of a backend"
labels=$(jq -r '.threads[0].labels[] | "\(.key)=\(.value)"' "$work/stdout" | grep -E '^(db|user|application|db_oid)=' | sort | paste -sd' ')
oid=$(sql -U postgres -c "select oid from pg_database where datname = 'bank'")
[[ $labels == "application=web db=bank db_oid=$oid user=bob" ]] || fail "the backend of bob has: $labels"

# --- private labels only when they are named, and then without numbers
! grep -q '"query"' "$work/stdout" || fail "the text of a query was read and nobody has named it"
PGAPPNAME=sleeper psql -h "$work/pg" -U alice -d shop -AtqX -c "set role worker" -c "select pg_sleep(600), 'secret'" >/dev/null 2>&1 &
children+=($!)
wait_until "the sleeper runs" has_backends alice sleeper
sleeps() { [[ $(sql -U postgres -c "select wait_event from pg_stat_activity where application_name = 'sleeper'") == PgSleep ]]; }
wait_until "the sleeper sleeps" sleeps
run dump --json -p "$(backends alice sleeper)" --preset postgres --preset-label query,title
label() { jq -r --arg key "$1" '.threads[0].labels[] | select(.key == $key) | .value' "$work/stdout"; }
[[ $(label query) == 'select pg_sleep(?), ?' ]] || fail "the query is: $(label query)"
[[ $(label title) == "postgres: alice shop [local] SELECT" ]] || fail "the title is: $(label title)"
[[ $(label wait_event) == Timeout ]] || fail "it waits for: $(label wait_event)"
# SET ROLE changes by whose rights a statement runs, and not who has connected.
role=$(sql -U postgres -c "select 'worker'::regrole::oid")
[[ $(label user) == alice && $(label role_oid) == "$role" ]] || fail "user $(label user), role $(label role_oid), not alice and $role"
# pg_stat_activity has the number of the same statement.
[[ $(label query_id) == "$(sql -U postgres -c "select query_id from pg_stat_activity where application_name = 'sleeper'")" ]] ||
  fail "query_id is $(label query_id)"

# --- a parallel worker has its leader's query and numbers, and no connection of its own
mode=debug_parallel_query
[[ $(sql -U postgres -c "select count(*) from pg_settings where name = '$mode'") == 1 ]] || mode=force_parallel_mode
PGOPTIONS="-c $mode=on -c max_parallel_workers_per_gather=2" PGAPPNAME=leader \
  psql -h "$work/pg" -U bob -d bank -AtqX -c "select pg_sleep(600), count(*) from t" >/dev/null 2>&1 &
children+=($!)
worker_of() { sql -U postgres -c "select w.pid from pg_stat_activity w join pg_stat_activity l on l.pid = w.leader_pid
  where l.application_name = 'leader' and w.backend_type = 'parallel worker' and w.wait_event = 'PgSleep'"; }
has_worker() { [[ -n $(worker_of) ]]; }
wait_until "a parallel worker sleeps" has_worker
run dump --json -p "$(worker_of)" --preset postgres
[[ $(label query_id) == "$(sql -U postgres -c "select query_id from pg_stat_activity where application_name = 'leader' and leader_pid is null")" ]] ||
  fail "the worker's query_id is $(label query_id)"
[[ $(label db_oid) == "$oid" && $(label application) == leader && -z $(label db)$(label user) ]] ||
  fail "the worker has db_oid $(label db_oid), application $(label application), db $(label db), user $(label user)"

# --- the postmaster has no entry: not of this process, and said so
run dump -p "$server" --preset postgres --explain
expect_shown 'has no entry'

# --- by ptrace: no label that cannot be, also while connections begin and end, and shares of sessions by the kernel's account
echo 'select 1;' >"$work/churn.sql"
PGAPPNAME=churn "$bin/pgbench" -h "$work/pg" -U bob -n -C -c 1 -T 600 -f "$work/churn.sql" shop >"$work/pgbench" 2>&1 &
children+=($!)
start record -p "$server" --backend ptrace -F 199 --preset postgres -o "$work/ptrace.jsonl"
wait_until "labelscope records" has_begun_or_ended
run_times | grep -E ':(web|batch) ' >"$work/before"
for target in $(backends alice web) $(backends alice batch) $(backends bob web); do
  wait_until "a backend computes" has_run_or_ended $(($(cpu_ticks "$target") + 120))
done
run_times >"$work/after"
kill -INT "$recorder" 2>/dev/null
finish
expect_status "$exit_ok" "record by ptrace"
expect_ledger "$work/ptrace.jsonl"
# A session of the test itself is that of psql. Of the others, the server knows which statements they have run.
as_admin "select json_build_object('user', member, 'user_oid', member::regrole::oid::text, 'role_oid', array[member::regrole::oid::text, '$role'],
    'db', database, 'db_oid', d.oid::text, 'application', application, 'query_id', array(select queryid::text from pg_stat_statements s
      where s.dbid = d.oid and s.userid = member::regrole and query like statement))
  from (values ('alice', 'shop', 'web', '%and b.id%a.id >%'), ('alice', 'shop', 'batch', '%sum(length%'), ('bob', 'bank', 'web', '%and b.id%a.id >%'),
    ('alice', 'shop', 'sleeper', '%'), ('bob', 'bank', 'leader', '%'), ('bob', 'shop', 'churn', 'select \$1'), ('postgres', 'postgres', 'psql', '%')) sessions (member, database, application, statement)
  join pg_database d on datname = database" >"$work/plan"
session_account
judge "$work/ptrace.jsonl" --account "$work/sessions" || fail "a share is wrong: $(cat "$work/judged")"
[[ $(jq .impossible_samples "$work/judged") == 0 ]] || fail "labels cannot be together: $(jq -c .impossible "$work/judged")"
[[ $(jq -c 'map(.query_id | length)' -s "$work/plan") == '[1,1,1,'* ]] || fail "a statement has no number: $(cat "$work/plan")"
jq -e '.covered.query_id > 0.7' "$work/judged" >/dev/null || fail "too few samples have a query: $(jq -c .covered "$work/judged")"
