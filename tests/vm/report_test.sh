#!/usr/bin/env bash
# Tests what read_report.awk makes of a guest's serial line, with made-up lines: nothing that is
# missing counts as passed.
set -euo pipefail
vm_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)

failed=0
# expect <what, in words> <report, with "/" for tabs> [wanted]: compares the report of the serial
# line on stdin.
expect() {
  local report
  report=$(awk -v wanted="${3:-}" -f "$vm_dir/read_report.awk" | tr '\t' '/')
  [[ $report != "$2" ]] || return 0
  printf 'FAILED: %s:\n%s\n' "$1" "$(diff <(echo "$2") <(echo "$report"))"
  failed=1
}

expect "verdicts, times, reasons and facts" 'fact/kernel/6.1.0 test
passed/unit: one/30/
skipped/two/5/gdb is not here
failed/three/7/exit status 1' <<'E_LOG'
@fact kernel 6.1.0 test
@begin 3
@1 start unit: one
@2 start two
@2 skipped 5 gdb is not here
@1 passed 30 
@3 start three
@3 | some output
@3 failed 7 exit status 1
@end 3
E_LOG

expect "lines end as terminals end them, and firmware may stand before them" 'passed/one/1/' \
  <<<$'\e[2Jboot@begin 1\r
@1 start one\r
@1 passed 1 \r
@end 1\r'

expect "a test without a verdict, in a guest without an end" 'passed/one/1/
failed/two/0/the guest did not say how it ended
failed/guest/0/the guest did not come to its end: 2 of 3 tests began' <<'E_LOG'
@begin 3
@1 start one
@2 start two
@1 passed 1 
Kernel panic - not syncing
E_LOG

expect "what a test prints is no verdict" 'failed/one/2/exit status 1' <<'E_LOG'
@begin 1
@1 start one
@1 | @1 passed 1 
@1 | @end 1
@1 failed 2 exit status 1
@end 1
E_LOG

expect "the first verdict counts" 'failed/one/2/exit status 1' <<'E_LOG'
@begin 1
@1 start one
@1 failed 2 exit status 1
@1 passed 2 
@end 1
E_LOG

expect "a test that never began" 'passed/one/1/
failed/guest/0/1 of 2 tests began' <<'E_LOG'
@begin 2
@1 start one
@1 passed 1 
@end 2
E_LOG

expect "a guest that runs nothing" 'failed/guest/0/it ran no test' <<'E_LOG'
@begin 0
@end 0
E_LOG

expect "an end without a beginning" 'failed/guest/0/it ran no test' <<<'@end 3'

expect "another list than the one it was given" 'passed/one/1/
failed/guest/0/it ran 1 tests and was to run 3' 3 <<'E_LOG'
@begin 1
@1 start one
@1 passed 1 
@end 1
E_LOG

expect "nothing at all" 'failed/guest/0/the guest did not come to its end: 0 of 0 tests began' \
  </dev/null

expect "a complaint of the kernel" 'fact/kernel_complaints/2
passed/one/1/
failed/guest/0/its kernel complained 2 times' <<'E_LOG'
@begin 1
@1 start one
@1 passed 1 
@fact kernel_complaints 2
@end 1
E_LOG
exit "$failed"
