# Each format, read like its consumers do, over files with errors, with warnings and without either.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
scripts=$SOURCE_DIR/../unit/check
# This Python has the modules of the distribution's packages.
python=$(PATH=/usr/bin:$PATH command -v python3) || skip_test "python3 is not installed"

mkdir -p build/lib
cp "$VIOLATORS/static/good-program/program" build/app
cp "$VIOLATORS/static/LS023-packed/libcustomlabels.so" build/lib/
cp "$VIOLATORS/static/LS031-general-dynamic/libcustomlabels.so" build/lib/libcustomlabels-gd.so
files=(build/app build/lib/libcustomlabels.so ./build/lib/../lib/libcustomlabels-gd.so)

run check --format json "${files[@]}"
expect_status "$exit_findings" "json"
jq -e '.format == "labelscope-check" and .version == 1 and .errors == 1 and .warnings == 1 and
  [.subjects[].name] == ["build/app", "build/lib/libcustomlabels.so", "./build/lib/../lib/libcustomlabels-gd.so"]' \
  "$work/stdout" >/dev/null || fail "not the JSON that is documented"
expect_said '1 error, 1 warning'

# The output has every documented field, and no other.
documented=$(sed -n 's/^| \(`[^|]*`\) |.*/\1/p' "$SOURCE_DIR/../../docs/schema/check-json.md" |
  tr -d '`,' | tr ' ' '\n' | sort -u)
used=$(jq -r '[., .subjects[], .subjects[].diagnostics[], .effort] | map(keys[]) | unique[]' "$work/stdout")
[[ "$(echo "$used" | sort -u)" == "$documented" ]] ||
  fail "fields: $(diff <(echo "$used") <(echo "$documented"))"

run check --format junit "${files[@]}"
expect_status "$exit_findings" "junit"
"$python" "$scripts/read_junit.py" <"$work/stdout" >"$work/cases"
((PIPESTATUS[0] == 77)) && skip_test "$(cat "$work/cases")"
# There is one case for each file and rule.
[[ $(grep -c '^build/app|LS' "$work/cases") == 11 ]] || fail "not 11 cases: $(cat "$work/cases")"
[[ $(cut -d '|' -f 1,2 "$work/cases" | sort | uniq -d) == "" ]] || fail "a case occurs twice"
grep -Fq 'libcustomlabels-gd.so|LS031 library-tls-descriptor|failure' "$work/cases" ||
  fail "no failure"
grep -Fq 'libcustomlabels.so|LS023 current-set-aligned|passed' "$work/cases" || fail "a warning failed"

run check --format sarif --strict "${files[@]}"
expect_status "$exit_findings" "sarif"
"$python" "$scripts/validate_sarif.py" <"$work/stdout" >"$work/results" || {
  (($? == 77)) && skip_test "$(cat "$work/results")"
  fail "SARIF is not valid"
}
[[ $(cat "$work/results") == "LS023 warning build/lib/libcustomlabels.so 1 -
LS031 error build/lib/libcustomlabels-gd.so 1 -" ]] || fail "not these results: $(cat "$work/results")"
# These stay the same from run to run, however the file is named.
prints() { jq -c '[.runs[0].results[].partialFingerprints]' "$work/stdout"; }
before=$(prints)
run check --format sarif --strict build/app "$PWD/build/lib/libcustomlabels.so" \
  build/lib/libcustomlabels-gd.so
[[ $(prints) == "$before" ]] || fail "fingerprints changed"

run check --format github "${files[@]}"
expect_status "$exit_findings" "github"
expect_shown '^::error title=LS031 library-tls-descriptor,file=build/lib/libcustomlabels-gd\.so::'
expect_shown '^::warning title=LS023 current-set-aligned,file=build/lib/libcustomlabels\.so::'
[[ $(grep -c '^::' "$work/stdout") == 2 ]] || fail "not two annotations"

# The report has a terminal's colors only on request.
run check "${files[@]}"
if grep -q $'\e' "$work/stdout"; then fail "colors without a terminal"; fi
run check --color always "${files[@]}"
grep -q $'\e\[1;31merror LS031' "$work/stdout" || fail "no colors"
[[ $(tail -n 1 "$work/stdout") == *findings:* ]] || fail "the last line is no verdict"
