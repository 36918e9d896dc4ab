# What inspect says of files of every kind: verdicts, findings, streams and exit status.
source "${BASH_SOURCE%/*}/../lib.sh"

run inspect "$BROKEN_TARGETS/good-program"
expect_status "$exit_ok" "a program that publishes"
grep -q 'publishes labels as ABI v1 wants it' "$work/stdout" || fail "no verdict"
grep -Eq 'custom_labels_current_set$' "$work/stdout" || fail "no symbol in the details"
grep -Eq 'access +local exec' "$work/stdout" || fail "no access model"

# verdict_of <file> <verdict> <findings, or nothing> <status>: compares these with what inspect
# says.
verdict_of() {
  run inspect --json "$BROKEN_TARGETS/$1"
  expect_status "$4" "$1"
  grep -q "\"verdict\": \"$2\"" "$work/stdout" || fail "$1 is not $2: $(cat "$work/stdout")"
  found=$(sed -n 's/.*"code": "\(.*\)",/\1/p' "$work/stdout" | xargs)
  [[ $found == "$3" ]] || fail "$1: not the findings $3: $found"
}
verdict_of good-program compliant '' "$exit_ok"
verdict_of libcustomlabels-large.so compliant '' "$exit_ok"
verdict_of not-exported readable not-exported "$exit_ok"
verdict_of local-symbol readable local-symbol "$exit_ok"
verdict_of liblabels-renamed.so readable file-name "$exit_ok"
verdict_of libcustomlabels-gd.so readable no-tlsdesc "$exit_ok"
verdict_of libcustomlabels-ie.so readable no-tlsdesc "$exit_ok"
verdict_of libhidden.so broken "local-symbol file-name" "$exit_error"
verdict_of wrong-version broken version-unknown "$exit_error"
verdict_of wide-version broken version-size "$exit_error"
verdict_of not-thread-local broken not-thread-local "$exit_error"
verdict_of four-bytes broken current-set-size "$exit_error"
verdict_of only-set broken version-missing "$exit_error"
verdict_of only-version broken current-set-missing "$exit_error"
verdict_of stripped-static nothing '' "$exit_error"
verdict_of with-gd nothing '' "$exit_error"

# Its labels are those of a library that it is linked with.
run inspect "$LINKED_WRITER_PROGRAM"
expect_status "$exit_error" "a program that is linked with a publisher"
grep -q 'publishes nothing itself; it is linked with libcustomlabels\.so' "$work/stdout" ||
  fail "the library is not named: $(cat "$work/stdout")"
run inspect --json "$LINKED_WRITER_PROGRAM"
grep -A1 '"needs_publishers": \[' "$work/stdout" | grep -q '"libcustomlabels\.so' ||
  fail "the library is not in the JSON"
run inspect --json "$BROKEN_TARGETS/good-program"
grep -q '"needs_publishers": \[\]' "$work/stdout" || fail "a library that it is not linked with"

# The name of a link is not the name that a process shows.
cp "$BROKEN_TARGETS/libcustomlabels-large.so" libcustomlabels.so.1
ln -s libcustomlabels.so.1 libcustomlabels.so
run inspect libcustomlabels.so
expect_status "$exit_ok" "a link"
grep -q 'file-name' "$work/stdout" || fail "the link's own name was judged"
grep -q 'libcustomlabels.so.1' "$work/stdout" || fail "the name that a process shows is missing"
