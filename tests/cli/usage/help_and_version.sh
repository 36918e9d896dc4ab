# Help and version are data, because the user asks for them: stdout, status 0.
source "${BASH_SOURCE%/*}/../lib.sh"
run --version
expect_status "$exit_ok" "--version"
grep -Eq '[0-9]+\.[0-9]+\.[0-9]+' "$work/stdout" || fail "no version on stdout"
run --help
expect_status "$exit_ok" "--help"
grep -q 'record' "$work/stdout" || fail "--help does not list record"
run record --help
expect_status "$exit_ok" "record --help"
for option in -p -d -F -o -f --no-kernel --group-by --summary --call-graph; do
  grep -q -- "$option" "$work/stdout" || fail "record --help does not explain $option"
done
