# CPU time of a stock Apache with PHP in its processes (prefork) by route, all of which mod_rewrite
# leads to one script: only routes that were asked for, without their query strings, and the shares
# are those of getrusage() at the beginning and the end of each request.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/servers.sh"
need_sampling
for each in jq python3 curl; do need_command "$each"; done
need_command apache2
modules=/usr/lib/apache2/modules
php=$(find "$modules" -name 'libphp*.so' | sort | tail -n 1)
[[ -n $php ]] || skip_test "Apache has no PHP (package libapache2-mod-php)"
need_preset mod-php "$php"
as_nobody

free_ports 1
php_script "$work/server/index.php"
cat >"$work/server/apache.conf" <<CONF
ServerRoot $work/server
PidFile $work/server/pid
ErrorLog $work/server/log
ServerName localhost
Listen 127.0.0.1:${ports[0]}
LoadModule mpm_prefork_module $modules/mod_mpm_prefork.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule rewrite_module $modules/mod_rewrite.so
LoadModule php_module $php
StartServers 4
MinSpareServers 1
MaxSpareServers 4
MaxRequestWorkers 4
KeepAlive Off
DocumentRoot $work/server
SetHandler application/x-httpd-php
RewriteEngine On
RewriteRule ^/ /index.php [L]
CONF
serve apache2 -f "$work/server/apache.conf" -D FOREGROUND
workers() { mapfile -t server < <(pgrep -P "$target"); ((${#server[@]} == 4)); }
wait_until "four processes are there" workers
# visit <argument of curl...> <URI>: asks for it again and again.
visit() { client curl --silent --fail --output /dev/null "${@:1:$#-1}" "http://127.0.0.1:${ports[0]}${!#}&n=[1-9999999]"; }
visit '/checkout?user=3'
visit '/checkout?user=4'
visit '/cart?item=7&next=/login'
visit --data password=secret --rate 4/s '/login?'
visit '/search?q=shoes'
visit --rate 8/s '/?'
for each in GET:/checkout GET:/cart POST:/login GET:/search GET:/; do
  echo "{\"method\":\"${each%%:*}\",\"route\":\"${each#*:}\",\"script\":\"$work/server/index.php\"}"
done >"$work/plan"
wait_until "each route is asked for" php_has_run 5
hold_clients

rm "$work/server/account"
record_load 400 -p "$target" -F 997 --call-graph none --preset mod-php -o right.jsonl
php_account >"$work/account"
expect_planned right.jsonl --account "$work/account"
expect_covered route 80

# --- a process without a request has no labels, and what it has left is stale
expect_idle mod-php
edit_preset mod-php '/no request has started/d'
dump_idle "$edited"
idle_labels | grep -q ' script=.* method=' || fail "without the need they have: $(idle_labels)"
