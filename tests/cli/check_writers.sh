# Every writer that breaks one rule in its file is found by that rule and by no other; correct ones are clean.
source "$SOURCE_DIR/lib.sh"
need_command jq

count=0
for folder in "$VIOLATORS"/static/*/; do
  writer=$(basename "$folder")
  file=$(find "$folder" -type f)
  run check --strict --format json "$file"
  found=$(jq -r '[.subjects[].diagnostics[].rule] | join(" ")' "$work/stdout") || fail "$writer: no JSON"
  case $writer in
    good-*)
      [[ -z $found ]] || fail "$writer: $found"
      expect_status "$exit_ok" "$writer"
      jq -e '.verdict == "clean" and (.subjects[0].rules | length > 0)' "$work/stdout" >/dev/null || fail "$writer"
      ;;
    *)
      [[ $found == "${writer%%-*}" ]] || fail "$writer: found '$found'"
      expect_status "$exit_findings" "$writer"
      jq -e '.subjects[0].diagnostics[0] | (.fix | length > 0) and (.found | length > 0) and .fails' \
        "$work/stdout" >/dev/null || fail "$writer: no fix"
      ;;
  esac
  count=$((count + 1))
done
((count >= 30)) || fail "only $count writers"

# Warnings fail only if that is asked for.
for writer in LS013-writable LS023-packed; do
  run check "$VIOLATORS/static/$writer/libcustomlabels.so"
  expect_status "$exit_ok" "$writer without --strict"
  expect_shown 'warning LS'
done

# What one writer does not break, an error does not hide: both are in one run.
run check --format json "$VIOLATORS/static/LS012-two" "$VIOLATORS/static/good-library" "$VIOLATORS/static/LS003-other-name"
expect_status "$exit_findings" "three folders"
[[ $(jq -r '[.subjects[].diagnostics[].rule] | sort | join(" ")' "$work/stdout") == "LS003 LS012" ]] || fail "not both"
[[ $(jq '.subjects | length' "$work/stdout") == 3 ]] || fail "not three subjects"

# The bundled writer.
run check --strict "$WRITER_LIBRARY" "$STATIC_WRITER_PROGRAM"
expect_status "$exit_ok" "the bundled writer"
expect_shown 'libcustomlabels\.so: 13 rules looked at, all met'
expect_shown ': 11 rules looked at, all met'
