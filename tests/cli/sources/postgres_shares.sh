# CPU time of three tenants of one PostgreSQL by query, database, user and role: each share is that of an account which
# somebody else keeps of the same time, and there is no label that cannot be. Roles change by SET ROLE and by SECURITY
# DEFINER.
#
# pg_stat_statements measures how long statements took, waiting included, so it says nothing about CPU time. Two others do:
# pg_stat_kcache asks the kernel for the CPU time of the backend before and after each statement (getrusage), and
# /proc/PID/schedstat has that of each backend.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/postgres.sh"
need_sampling
need_postgres pg_stat_statements pg_stat_kcache
need_query_numbers
# By itself pg_stat_kcache takes the elapsed time of statements below three ticks of the kernel, because the two parts that
# getrusage() has, user and system, are estimated by ticks. Their sum is exact, so it may always be taken.
start_postgres -c shared_preload_libraries=pg_stat_statements,pg_stat_kcache -c pg_stat_statements.track_planning=on \
  -c pg_stat_statements.track=all -c pg_stat_kcache.track_planning=on -c pg_stat_kcache.track=all -c pg_stat_kcache.linux_hz=1000000

as_admin 'create extension pg_stat_statements' 'create extension pg_stat_kcache' 'create role acme superuser login' \
  'create role globex superuser login' 'create role initech superuser login' 'create role pooler superuser login' \
  'create role keeper superuser login' 'create role red superuser' 'create role blue superuser' \
  'create database shop' 'create database bank' 'create database depot' \
  'create table tenant (member text, database text, application text, role text, statement text)' \
  "insert into tenant values ('acme', 'shop', 'web', 'acme', 'web_orders'), ('acme', 'shop', 'reports', 'acme', 'report_orders'),
    ('globex', 'bank', 'web', 'globex', 'web_accounts'), ('globex', 'bank', 'loader', 'globex', '^(begin|commit)'),
    ('initech', 'depot', 'jobs', 'initech', 'pg_sleep|count_kept'), ('initech', 'depot', 'jobs', 'keeper', 'count_kept'),
    ('pooler', 'depot', 'pool', 'pooler', 'set role'), ('pooler', 'depot', 'pool', 'red', 'set role|red_parts'),
    ('pooler', 'depot', 'pool', 'blue', 'set role|blue_parts')"
# Each application has tables of its own, so that no two of them have a statement with the same number.
for each in shop:web_orders shop:report_orders bank:web_accounts depot:kept depot:red_parts depot:blue_parts; do
  sql -U postgres -d "${each%%:*}" -c "create table ${each#*:} as select g id, md5(g::text) s from generate_series(1, 4000) g" || fail "no table"
done
sql -U keeper -d depot -c "create function count_kept() returns bigint language sql security definer as
  'select count(*) from kept a join kept b on a.s > b.s and b.id < 30'" || fail "no function"
head -c 4000000 /dev/zero >"$work/object" && object=$(sql -U globex -d bank -c "\\lo_import $work/object" -c '\echo :LASTOID')
[[ $object =~ ^[0-9]+$ ]] || fail "no large object: $object"

# Few rows are sent, so that a backend computes for most of its time. The last tenant also waits.
session acme shop web 'select count(*) from web_orders a join web_orders b on a.s > b.s and b.id < 50;'
session acme shop reports 'select sum(length(a.s || b.s)) from report_orders a join report_orders b on b.id < 60;'
session globex bank web 'select count(*) from web_accounts a join web_accounts b on a.s > b.s and b.id < 20;'
session initech depot jobs 'select pg_sleep(0.03);' 'select count_kept();'
session pooler depot pool 'set role red;' 'select count(*) from red_parts a join red_parts b on a.s > b.s and b.id < 40;' \
  'set role blue;' 'select count(*) from blue_parts a join blue_parts b on a.s > b.s and b.id < 15;'
# This one calls functions of the server without statements ("fast path") between BEGIN and COMMIT.
session globex bank loader "\\lo_export $object /dev/null"
for each in acme:2 globex:2 initech:1 pooler:1; do
  wait_until "the sessions of ${each%:*} are there" has_backends "${each%:*}" '%' "${each#*:}"
done

# What may be together: which statement a role runs for which application, by the server's own numbers.
plan() {
  as_admin "select json_build_object('user', member, 'user_oid', member::regrole::oid::text, 'db', database, 'db_oid', d.oid::text,
      'role_oid', role::regrole::oid::text, 'application', application, 'query_id', array(select queryid::text from pg_stat_statements s
        where s.dbid = d.oid and toplevel and query ~* statement)) from tenant join pg_database d on datname = database" \
    "select json_build_object('user', 'postgres', 'user_oid', '10', 'role_oid', '10', 'application', 'psql', 'db', 'postgres',
      'db_oid', (select oid::text from pg_database where datname = 'postgres'), 'query_id', array(select queryid::text
        from pg_stat_statements where userid = 10))" >"$work/plan"
}
# The account of each statement under each role. A function's own role runs what is in it.
statements() {
  as_admin "with k as (select queryid, userid, dbid, top, exec_user_time + exec_system_time + plan_user_time + plan_system_time as cpu
        from pg_stat_kcache()), inner_one as (select sum(cpu) as cpu, min(userid) as userid from k where not top),
      outer_one as (select queryid, dbid, userid from pg_stat_statements where toplevel and query ~ 'count_kept\(\)'),
      used as (select queryid, k.userid, k.dbid, k.cpu - coalesce((select i.cpu from inner_one i, outer_one o where o.queryid = k.queryid), 0) as cpu
        from k where top and userid <> 10
        union all select o.queryid, i.userid, o.dbid, i.cpu from inner_one i, outer_one o)
    select json_build_object('time', cpu, 'labels', json_build_object('query_id', queryid::text, 'db_oid', dbid::text,
      'role_oid', userid::text)) from used" >"$work/statements"
}
# record_tenants <name> <ticks> <preset>: until the last tenant but one has computed for so many ticks.
record_tenants() {
  target=$(backends initech)
  start record -p "$server" -F 499 --call-graph none --preset "$3" -o "$work/$1.jsonl"
  wait_until "labelscope records" has_begun_or_ended
  as_admin 'select pg_stat_statements_reset(), pg_stat_kcache_reset()' >"$work/reset"
  run_times >"$work/before"
  wait_until "the tenants compute" has_run_or_ended $(($(cpu_ticks "$target") + $2))
  run_times >"$work/after"
  statements
  session_account
  kill -INT "$recorder" 2>/dev/null
  finish
  plan
  expect_status "$exit_ok" "record with $3"
  expect_ledger "$work/$1.jsonl"
}
# with_query <recording>: prints how many hundredths of the loader's samples have a query.
with_query() {
  jq -s '[.[] | select(.type == "labels") | .labels | map({key, value}) | from_entries] as $sets
    | [.[] | select(.type == "sample") | {count, of: $sets[.labels]} | select(.of.application == "loader")]
    | (map(select(.of.query_id)) | map(.count) | add // 0) * 100 / (map(.count) | add) | floor' "$1"
}

record_tenants right 100 postgres
judge "$work/right.jsonl" --account "$work/statements" --account "$work/sessions" || fail "a share is wrong"
impossible=$(jq .impossible_samples "$work/judged")
[[ $impossible == 0 ]] || fail "$impossible samples have labels that cannot be together"
# Whoever takes the elapsed time for the truth sees other shares: statements wait, for a processor as well.
as_admin "select json_build_object('time', total_exec_time, 'labels', json_build_object('query_id', queryid::text))
  from pg_stat_statements where toplevel and userid <> 10 and total_exec_time > 100" >"$work/elapsed"
! judge "$work/right.jsonl" --account "$work/elapsed" || fail "the elapsed time of statements is the CPU time"
# The number of BEGIN stays in the entry while functions are called without statements.
share=$(with_query "$work/right.jsonl")
((share < 20)) || fail "$share per cent of the time between BEGIN and COMMIT have a query"

# --- these labels are right because the preset asks whether a query runs, and who has the rights
edit_preset postgres '/^label query_id/s/if be\+232:u32 == \$running//; s/^label role_oid .*/label role_oid = be+52:u32/'
record_tenants wrong 20 "$edited"
judge "$work/wrong.jsonl"
(($(jq .impossible_samples "$work/judged") > 100)) || fail "the login role is no wrong label"
share=$(with_query "$work/wrong.jsonl")
((share > 60)) || fail "the number of BEGIN stays no wrong label: $share per cent"
