# A process with three publishers that disagree about "tenant": the executable, a library and a copy
# of it. Every format shows the publisher of each value, none is lost, and stderr says that they
# disagree.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
coproc RIVALS { exec "$RIVALS_PROGRAM" --dlopen "$RIVALS_LIBRARY" --dlmopen "$RIVALS_LIBRARY"; }
target=$RIVALS_PID
children+=("$target")
truth=()
while read -r line <&"${RIVALS[0]}" && [[ $line != ready ]]; do truth+=("$line"); done
((${#truth[@]} == 2)) || skip_test "the target cannot run here: ${truth[*]}"
program=$(basename "$RIVALS_PROGRAM") library=$(basename "$RIVALS_LIBRARY")

# This is the truth by module name: the "tenant" that the target set there (the two copies share a
# name).
values=$(printf '%s\n' "${truth[0]}" | jq -r '.variables[] | .module as $m | .labels[]
  | select(.key == "74656e616e74") | "\($m) \(.value)"' | while read -r module hex; do
  printf '%s %b\n' "$module" "$(sed 's/../\\x&/g' <<<"$hex")"
done | sort)
(($(wc -l <<<"$values") == 3)) || fail "the target itself has not three values: $values"

# The executable's value is known by its name. Either of the copies may come first.
own=$(sed -n "s/^$program //p" <<<"$values")
mapfile -t copies < <(sed -n "s/^$library //p" <<<"$values")
pair="($own@$program\\|(${copies[0]}@$library\\|${copies[1]}@$library#2|${copies[1]}@$library\\|${copies[0]}@$library#2))"

# check_recording <backend>: records, and checks all formats.
check_recording() {
  rm -f r.*
  run record --backend "$1" -d 2 -F 199 -p "$target" -o r.jsonl -o r.folded -o r.pb.gz \
    --group-by tenant --summary tenant
  expect_status "$exit_ok" "three publishers, by $1"
  expect_said "different values"

  # In jsonl, publishers are indices into the process's list.
  recorded=$(jq -rs '(map(select(.type == "process"))[0].publishers | map(split("/") | last)) as $names
    | (map(select(.type == "labels" and (.labels | length) > 0))[0].labels)
    | map(select(.key == "tenant")) | .[] | "\($names[.publisher]) \(.value)"' r.jsonl | sort)
  [[ $recorded == "$values" ]] || fail "r.jsonl has: $recorded; the target set: $values"
  (($(jq -s '[.[] | select(.type == "labels") | .labels[] | select(.key == "tenant") | .publisher] | unique | length' \
    r.jsonl) == 3)) || fail "r.jsonl does not distinguish the copies"

  grep -Eq "^tenant=$pair;" r.folded ||
    fail "r.folded does not name the sources: $(head -1 r.folded)"
  grep -Fq "$own@$program|" "$work/stdout" || fail "the summary does not name the sources"

  command -v go >/dev/null || return 0
  pprof -raw r.pb.gz >"$work/raw" || fail "go tool pprof does not accept r.pb.gz"
  for label in "tenant:\[$own\]" "tenant@$program:\[$own\]" \
    "tenant@$library:\[(${copies[0]}|${copies[1]})\]" \
    "tenant@$library#2:\[(${copies[0]}|${copies[1]})\]" "shared:\[the same\]" \
    "labelscope.flags:\[key-conflict\]"; do
    grep -Eq "(^|[ {])$label" "$work/raw" ||
      fail "r.pb.gz has no $label: $(grep -m1 tenant "$work/raw")"
  done
  if grep -q 'shared@' "$work/raw"; then fail "equal values are no conflict"; fi
}

check_recording bpf
check_recording ptrace
