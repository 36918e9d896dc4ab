# CPU time of a stock PHP-FPM by route, behind a front controller: only routes that were asked for,
# each in its pool, and the shares are those of getrusage() at the beginning and the end of each
# request.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/servers.sh"
need_sampling
need_command jq
need_command python3
shopt -s nullglob
programs=(/usr/sbin/php-fpm*)
shopt -u nullglob
((${#programs[@]})) || skip_test "PHP-FPM is not installed (package php-fpm)"
need_preset php-fpm "${programs[-1]}"
as_nobody

php_script "$work/server/index.php"
for pool in web api; do
  printf '[%s]\nlisten = %s\npm = static\npm.max_children = 2\n' $pool "$work/server/$pool"
done >"$work/pools"
{ printf '[global]\nerror_log = %s\n' "$work/server/log" && cat "$work/pools"; } >"$work/server/fpm.conf"
serve "${programs[-1]}" --nodaemonize --fpm-config "$work/server/fpm.conf"
workers() { mapfile -t server < <(pgrep -P "$target"); ((${#server[@]} == 4)); }
wait_until "four workers are there" workers

# visit <pool> <method> <URI> [pause [parameter...]]
visit() { client python3 -B "$SOURCE_DIR/fastcgi_client.py" "$work/server/$1" "$work/server/index.php" "${@:2}"; }
visit web GET '/checkout?user=3'
visit web GET '/cart?item=7&next=/login'
visit web POST /login 0.01
visit api GET '/search?q=shoes#top'
visit api GET / 0.02
# Names of these headers have the hash of REQUEST_URI, one of them its length as well.
visit web GET /hidden 0.02 HTTP_RO=/forged HTTP_XTRARN=/forged
for each in web:GET:/checkout web:GET:/cart web:POST:/login api:GET:/search api:GET:/; do
  IFS=: read -r pool method route <<<"$each"
  echo "{\"pool\":\"$pool\",\"method\":\"$method\",\"route\":\"$route\",\"script\":\"$work/server/index.php\"}"
done >"$work/plan"
wait_until "each route is asked for" php_has_run 6
hold_clients

rm "$work/server/account"
record_load 400 -p "$target" -F 997 --call-graph none --preset php-fpm -o right.jsonl
php_account /hidden >"$work/account"
expect_planned right.jsonl --account "$work/account"
expect_covered route 80
[[ $(jq '.covered.route < 1' "$work/judged") == true ]] || fail "no sample is of a worker between two requests"

# --- a worker without a request has its pool alone, whatever the last one has left
dump_idle php-fpm
# One that has had no request yet is stale.
(($(idle_labels | grep -cE '^(labelled pool=[a-z]+|stale )$') == ${#server[@]})) && idle_labels | grep -q '^labelled' || fail "processes without a request have: $(idle_labels)"
edit_preset php-fpm '/^label +method/s/ if .* class/ class/'
dump_idle "$edited"
idle_labels | grep -q 'method=GET' || fail "without the condition they have: $(idle_labels)"

# --- a header of a client is no route
edit_preset php-fpm '/^label +route/s/ if .* unless/ unless/'
record_load 50 -p "$target" -F 997 --call-graph none --preset "$edited" -o wrong.jsonl
judge wrong.jsonl
jq -e '.impossible | map(.labels.route) | unique == ["/forged"]' "$work/judged" >/dev/null || fail "without the condition: $(cat "$work/judged")"
