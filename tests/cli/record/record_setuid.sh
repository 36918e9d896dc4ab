# A set-user-ID program belongs to its file's owner. A user that records it gets that message, and
# not one about a waiting kernel.
source "${BASH_SOURCE%/*}/../lib.sh"
((EUID == 0)) || skip_test "a set-user-ID program of root needs root to be made"
need_command setpriv
mountpoint=$(df --output=target "$work" | tail -n 1)
! findmnt -no OPTIONS --target "$mountpoint" | grep -qw nosuid ||
  skip_test "$mountpoint ignores set-user-ID"
chmod 755 "$work" && chmod 777 "$work/out"
cat >"$work/busy.c" <<'EOF'
static volatile unsigned long turns;
int main(void) {
  for (unsigned long i = 0; i < 1000000000UL; i++) turns++;
  return 0;
}
EOF
cc -O1 -o "$work/busy" "$work/busy.c" || skip_test "no compiler"
cp "$LABELSCOPE" "$work/labelscope" && chmod 755 "$work/labelscope" && chmod 4755 "$work/busy"
drop=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
"${drop[@]}" test -x "$work/busy" ||
  skip_test "user 65534 cannot reach $work; set TMPDIR to a public folder"
"${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" record -o setuid.pb.gz -- "$work/busy" \
  >"$work/stdout" 2>"$work/stderr" </dev/null
expect_said 'set-user-ID'
! grep -q 'did not stop in time' "$work/stderr" || fail "the kernel is blamed"
