# Programs whose labels are not shown, or by labelscope only (targets/broken): dump --explain gives
# the right reason for each and no other, in text and in JSON, and shows the labels that can be read
# all the same.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq

both='[{"key":"tenant","value":"acme"},{"key":"route","value":"/pay"}]'

# explained <findings about the process> <about its thread> <labels as JSON> <program>
# <argument...>: compares these with the explanation.
explained() {
  local plan=$1 thread=$2 labels=$3 told
  shift 3
  rm -f "$work/stdin"
  start_target "$BROKEN_TARGETS/$@"
  run dump --json --explain -p "$target"
  expect_status "$exit_ok" "$*"
  told=$(jq -r '[.explanation.findings[].code] | join(" ")' "$work/stdout")
  [[ $told == "$plan" ]] || fail "$*: found in the process: $told; expected: $plan"
  told=$(jq -r '[.threads[].explanation.findings[].code] | join(" ")' "$work/stdout")
  [[ $told == "$thread" ]] || fail "$*: found in the thread: $told; expected: $thread"
  jq -e --argjson labels "$labels" '[.threads[0].labels[] | {key, value}] == $labels' \
    "$work/stdout" >/dev/null ||
    fail "$*: labels: $(jq -c '.threads[0].labels' "$work/stdout")"
  jq -e '[.explanation, .threads[].explanation] | all(.steps | length > 0)' "$work/stdout" \
    >/dev/null || fail "$*: no steps"
  jq -e '[.explanation, .threads[].explanation] | map(.findings[]) | all((.text | length > 0) and (.fix | length > 0))' \
    "$work/stdout" >/dev/null || fail "$*: a finding without text or fix"
  kill -KILL "$target" && wait "$target" 2>/dev/null
}

explained '' '' "$both" good-program
explained no-publisher '' '[]' no-publisher
explained not-exported '' "$both" not-exported
explained no-symbols '' '[]' stripped-static
explained file-name '' "$both" with-renamed
explained version-unknown '' '[]' wrong-version
explained version-size '' '[]' wide-version
explained no-tlsdesc '' "$both" with-gd
explained no-tlsdesc '' "$both" with-ie
explained current-set-size '' '[]' four-bytes
explained not-thread-local '' '[]' not-thread-local
explained local-symbol '' "$both" local-symbol
explained local-symbol '' '[]' no-publisher --dlopen "$BROKEN_TARGETS/libhidden.so"
explained version-missing '' '[]' only-set
explained current-set-missing '' '[]' only-version
explained '' never-touched '[]' no-publisher --write nothing \
  --dlopen "$BROKEN_TARGETS/libcustomlabels-large.so"
for what in set storage string; do
  explained '' bad-pointer '[]' good-program --write "unmapped-$what"
done
explained '' malformed-set '[]' good-program --write huge-count
explained '' malformed-set '[]' good-program --write no-storage
explained '' null-value '[{"key":"tenant","value":"acme"}]' good-program --write null-value
seven=()
for number in {1..7}; do seven+=(--dlopen "$BROKEN_TARGETS/libcustomlabels-$number.so"); done
explained too-many-publishers '' "$both" no-publisher "${seven[@]}"

# The text has steps, findings and fixes.
rm -f "$work/stdin"
start_target "$BROKEN_TARGETS/not-exported"
run dump --explain -p "$target"
expect_status "$exit_ok" "text"
expect_shown 'custom_labels_current_set in \.symtab: TLS, GLOBAL'
expect_shown 'the variable is at 0x[0-9a-f]+, the thread pointer minus 0x'
expect_shown \
  'LS010 not-exported: .*not-exported: custom_labels_abi_version and custom_labels_current_set are in \.symtab only'
expect_shown 'fix: link with .*--export-dynamic-symbol=custom_labels_current_set'
