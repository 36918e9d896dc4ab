#!/usr/bin/env bash
# Tests what scripts/test.sh makes of ctest's reports (scripts/test_report.py), with made-up
# reports: nothing that failed counts as passed.
set -euo pipefail
top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

failed=0
# expect <what, in words> <what test_report.py prints, with "/" for tabs> <its argument>...
expect() {
  local what=$1 expected=$2 printed
  shift 2
  printed=$(python3 "$top/scripts/test_report.py" "$1" "$reports" "${@:2}" | tr '\t' '/')
  [[ $printed != "$expected" ]] || return 0
  printf 'FAILED: %s:\n%s\n' "$what" "$(diff <(echo "$expected") <(echo "$printed"))"
  failed=1
}

cat >"$reports/parallel.xml" <<'E_XML'
<testsuite name="x"><testcase name="one" time="0.5" status="run"><system-out>fine</system-out></testcase>
<testcase name="two [x] (a|b)" time="2" status="fail"><failure message=""/><system-out>first words</system-out></testcase>
<testcase name="three" time="3" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
  <system-out>before
SKIPPED: gdb &lt; 13
after</system-out></testcase>
<testcase name="four" time="0" status="notrun"><skipped message="Unable to find executable"/></testcase>
<testcase name="five" status="disabled"/>
<testcase name="six" time="1" status="fail"><failure message=""/><system-out/></testcase></testsuite>
E_XML
printf '<testsuite><testcase name="one" time="1" status="run"/></testsuite>' >"$reports/aarch64.xml"
expect "what failed, or could not start, before it ran again" $'two [x] (a|b)\nfour\nsix' failed
expect "an expression for ctest" '^(two \[x\] \(a\|b\)|four|six)$' pattern

cat >"$reports/again.xml" <<'E_XML'
<testsuite><testcase name="two [x] (a|b)" time="1" status="run"><system-out>second words</system-out></testcase>
<testcase name="one" time="9" status="fail"/>
<testcase name="six" time="1" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase></testsuite>
E_XML
expect "the verdicts, after some tests ran again" 'passed/aarch64: one/
passed/one/
unsteady/two [x] (a|b)/
skipped/three/gdb < 13
failed/four/
failed/six/' results
expect "both outputs of a test that ran twice" '--- two [x] (a|b), first run: failed after 2.0 s
first words
--- two [x] (a|b), second run: passed after 1.0 s
second words' outputs 'two [x] (a|b)'
expect "the slowest come first" '     3.0  three
     2.0  two [x] (a|b)
     1.0  aarch64: one
     1.0  six
     0.5  one
     0.0  four' slowest
((failed == 0))
