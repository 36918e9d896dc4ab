# Two clients of PgBouncer share one connection to PostgreSQL, transaction by transaction: the label `application` follows
# the client whose statement runs, and is never the other's.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/postgres.sh"
need_sampling
need_postgres pg_stat_statements
need_query_numbers
pgbouncer=$(PATH=$PATH:/usr/sbin command -v pgbouncer) || skip_test "there is no PgBouncer (package pgbouncer)"
start_postgres -c shared_preload_libraries=pg_stat_statements
as_admin 'create extension pg_stat_statements' 'create role pool superuser login' 'create database shop'
for each in web jobs; do
  sql -U pool -d shop -c "create table of_$each as select g id, md5(g::text) s from generate_series(1, 2000) g" || fail "no table"
done

# Like the server, the pooler does not run as root. A server connection is the next client's as soon as a transaction ends.
own_folder pooler
cat >"$work/pooler.ini" <<INI
[databases]
shop = host=$work/pg dbname=shop user=pool
[pgbouncer]
unix_socket_dir = $work/pooler
listen_addr =
auth_type = any
pool_mode = transaction
default_pool_size = 1
INI
"${as[@]}" "$pgbouncer" "$work/pooler.ini" >"$work/pooler.said" 2>&1 &
children+=($!)
pooled() { psql -h "$work/pooler" -p 6432 -U pool -d shop -AtqX "$@"; }
answers() { [[ $(pooled -c 'select 1' 2>/dev/null) == 1 ]]; }
wait_until "the pooler answers: $(cat "$work/pooler.said")" answers
# The statement of a client says who it is: it reads the client's own table.
for each in web jobs; do
  PGAPPNAME=$each pooled >/dev/null 2>"$work/psql.$each" < <(exec yes "select count(*) from of_$each a join of_$each b on a.s > b.s and b.id < 20;") &
  children+=($!)
done
calls_of() { sql -U postgres -c "select coalesce(sum(calls), 0) from pg_stat_statements where query like '%of_$1%'"; }
both_are_served() { (($(calls_of web) >= 10 && $(calls_of jobs) >= 10)); }
wait_until "both clients are served" both_are_served
backends=$(sql -U postgres -c "select pid from pg_stat_activity where datname = 'shop'")
[[ $backends =~ ^[0-9]+$ ]] || fail "the pooler has not one connection, but: $backends"

# What may be together. Before it begins a client's transaction the pooler sets the client's name by a statement, and this
# statement runs while the name of the client before is still there.
as_admin "select json_build_object('user', 'pool', 'db', 'shop', 'db_oid', (select oid::text from pg_database where datname = 'shop'),
    'user_oid', 'pool'::regrole::oid::text, 'role_oid', 'pool'::regrole::oid::text, 'application', application, 'query_id',
    array(select queryid::text from pg_stat_statements where query like '%of_' || application || '%' or query ilike 'set %'))
  from (values ('web'), ('jobs')) clients (application)" >"$work/plan"

# of_client <recording> <application>: how many samples have this application and a query.
of_client() {
  jq -s --arg application "$2" '[.[] | select(.type == "labels") | .labels | map({key, value}) | from_entries] as $sets
    | [.[] | select(.type == "sample") | select($sets[.labels] | .application == $application and .query_id != null) | .count] | add // 0' "$1"
}
target=$backends
record_for 200 -p "$server" -F 499 --call-graph none --preset postgres -o "$work/right.jsonl"
expect_status "$exit_ok" "record"
expect_ledger "$work/right.jsonl"
judge "$work/right.jsonl"
impossible=$(jq .impossible_samples "$work/judged")
[[ $impossible == 0 ]] || fail "$impossible samples have the application of the other client"
for each in web jobs; do
  count=$(of_client "$work/right.jsonl" "$each")
  ((count > 200)) || fail "only $count samples of the client $each"
done
# Both clients were served by turns.
turns=$(sql -U postgres -c "select sum(calls) from pg_stat_statements where query like 'SET application_name%'")
((turns > 100)) || fail "the connection has changed its client only $turns times"

# If a label were the other client's, this would show.
sed -i 's/"application" : "web"/"application" : "web2"/; s/"jobs"/"web"/; s/"web2"/"jobs"/' "$work/plan"
judge "$work/right.jsonl"
(($(jq .impossible_samples "$work/judged") > 400)) || fail "the plan of the other client allows these labels, too"
