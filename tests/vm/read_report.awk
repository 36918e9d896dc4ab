# Turns a guest's output on its serial line (guest/run_tests.sh) into a report. Each test is one line,
# with fields separated by tabs: "passed", "failed" or "skipped", name, milliseconds, reason. Before
# them are lines with "fact", name, value. A test that began and has no verdict has failed, and so has
# a guest that did not come to its end: nothing that is missing counts as passed.
#
#   awk -v wanted=120 -f read_report.awk serial.log      wanted: the number of tests for the guest
BEGIN { FS = " " }
{ gsub(/\r/, "") }

# Output of the kernel or firmware can stand before ours on a line.
match($0, /@(fact|begin|end|[0-9]+|kernel) /) { $0 = substr($0, RSTART) }
!/^@/ { next }

$1 == "@fact" {
  value = $0
  sub(/^@fact [^ ]+ ?/, "", value)
  printf "fact\t%s\t%s\n", $2, value
  if ($2 == "kernel_complaints") complaints = value + 0
  next
}
$1 == "@begin" { expected = $2; next }
$1 == "@end" { ended = 1; next }
$1 == "@kernel" { next }

$2 == "start" {
  number = substr($1, 2)
  name = $0
  sub(/^@[0-9]+ start /, "", name)
  if (!(number in names)) { names[number] = name; order[++begun] = number }
  next
}
$2 ~ /^(passed|failed|skipped)$/ && $3 ~ /^[0-9]+$/ {
  number = substr($1, 2)
  if (!(number in names) || (number in verdict)) next
  verdict[number] = $2
  elapsed[number] = $3
  reason = $0
  sub(/^@[0-9]+ [a-z]+ [0-9]+ ?/, "", reason)
  reasons[number] = reason
}

END {
  for (i = 1; i <= begun; i++) {
    number = order[i]
    if (!(number in verdict)) printf "failed\t%s\t0\tthe guest did not say how it ended\n", names[number]
    else printf "%s\t%s\t%s\t%s\n", verdict[number], names[number], elapsed[number], reasons[number]
  }
  if (!ended) printf "failed\tguest\t0\tthe guest did not come to its end: %d of %d tests began\n", begun, expected
  else if (begun != expected) printf "failed\tguest\t0\t%d of %d tests began\n", begun, expected
  else if (begun == 0) printf "failed\tguest\t0\tit ran no test\n"
  else if (wanted != "" && begun != wanted) printf "failed\tguest\t0\tit ran %d tests and was to run %d\n", begun, wanted
  if (complaints > 0) printf "failed\tguest\t0\tits kernel complained %d times\n", complaints
}
