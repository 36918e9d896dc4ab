# The list of rules, their explanations, and the manual pages, which must say the same.
source "${BASH_SOURCE%/*}/../lib.sh"
man=$SOURCE_DIR/../../docs/man
run check --rules
expect_status "$exit_ok" "--rules"
[[ $(grep -Ec '^  LS[0-9]{3} +(error|warning|note) +(static|live|step) ' "$work/stdout") == "$(grep -c '^\.Ss LS' "$man/labelscope-rules.7")" ]] ||
  fail "not the rules of the manual page"
run check --rules LS031 version-value
expect_status "$exit_ok" "two rules"
expect_shown '^LS031 library-tls-descriptor: '
expect_shown '^LS012 version-value: '
expect_shown 'clang 19'
run check --rules LS999
expect_status "$exit_usage" "no such rule"
expect_said 'no rule is called LS999'
expect_no_stdout

run check --rules --format json
expect_status "$exit_ok" "--rules as JSON"
if command -v python3 >/dev/null; then
  python3 "$SOURCE_DIR/../../scripts/rules_page.py" <"$work/stdout" >"$work/page" || fail "no page"
  diff "$man/labelscope-rules.7" "$work/page" ||
    fail "the manual page is not that of these rules: labelscope check --rules --format json | scripts/rules_page.py"
fi
# All codes in the manual of check are those of rules.
while read -r code; do
  run check --rules "$code"
  expect_status "$exit_ok" "$code in the manual"
done < <(grep -oEh 'LS[0-9]{3}' "$man/labelscope-check.1" | sort -u)
run check --help
while read -r option; do
  grep -q -- "Fl ${option#-}\b" "$man/labelscope-check.1" ||
    fail "the manual does not explain $option"
done < <(grep -oE '^ {1,8}(-., )?--[a-z]+' "$work/stdout" | grep -oE -- '--[a-z]+' |
  grep -vxE -- '--(help|verbose|no)')
if command -v mandoc >/dev/null; then
  for page in labelscope-check.1 labelscope-rules.7; do
    mandoc -T lint -W warning "$man/$page" || fail "$page is not well-formed"
  done
fi
