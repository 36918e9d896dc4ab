# Inherited settings do not disturb labelscope, and the command inherits them: SIGCHLD ignored (a
# status would be lost), SIGHUP ignored (nohup), the limit of open files.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command perl
LABELSCOPE_BEFORE=$LABELSCOPE
LABELSCOPE=$work/wrapped
cat >"$LABELSCOPE" <<WRAPPED
#!/bin/bash
ulimit -Sn 256
exec perl -e '\$SIG{CHLD} = \$SIG{HUP} = \$SIG{PIPE} = "IGNORE"; exec @ARGV' "$LABELSCOPE_BEFORE" "\$@"
WRAPPED
chmod +x "$LABELSCOPE"
run record -o out.pb.gz -- bash -c 'kill -HUP $PPID
  for ((i = 0; i < 500000; i++)); do :; done
  ulimit -Sn >limit; grep -E "Sig(Blk|Ign)" /proc/self/status >signals; exit 7'
expect_status 7 "the command's own"
expect_pprof out.pb.gz
[[ $(<limit) == 256 ]] || fail "the command's limit of open files is $(<limit)"
# The bits 0, 12 and 16 are SIGHUP, SIGPIPE, SIGCHLD.
grep -Eq '^SigBlk:\s+0+$' signals || fail "the command runs with blocked signals: $(<signals)"
(((16#$(awk '/SigIgn/ { print $2 }' signals) & 0x1001) == 0x1001)) ||
  fail "the command ignores other signals than labelscope was given: $(<signals)"
