# Who records a server that publishes no labels learns which preset fits: its program, or a library of
# it. Nothing is offered of other programs, of those that publish labels, and with a preset.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling

record_it() {
  local seconds
  # The target may get no processor for a while.
  for seconds in 1 4 16; do
    run record -d "$seconds" -p "$target" --overwrite -o out.pb.gz "$@"
    [[ $status == "$exit_no_sample" ]] || break
  done
  expect_status "$exit_ok" "a recording of $target $*"
}

for server in redis-7.0:redis php-fpm:php-fpm mod-php:mod-php; do
  start_target "$PRESET_SERVERS/${server%:*}" --burn
  record_it
  expect_said "preset ${server#*:} fits .${server#*:}"
  if [[ $server == redis* ]]; then
    record_it --preset redis
    ! grep -q 'fits' "$work/stderr" || fail "a preset is offered beside the one that is used"
  fi
  stop_target
done
# A program may be given to its loader, which then is what runs.
loader=$(readelf -lW "$PRESET_SERVERS/redis-7.0" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
if [[ -n $loader ]]; then
  start_target "$loader" "$PRESET_SERVERS/redis-7.0" --burn
  record_it
  expect_said "preset redis fits .redis"
  stop_target
fi
for server in redis-unknown php-cli mod-php-unknown; do
  start_target "$PRESET_SERVERS/$server" --burn
  record_it
  ! grep -q 'fits' "$work/stderr" || fail "a preset is offered for $server"
  stop_target
done
start_busy_target
record_it
! grep -q 'fits' "$work/stderr" || fail "a preset is offered for a shell"
