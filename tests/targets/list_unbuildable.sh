#!/bin/sh
# Writes the combinations of the resolver matrix that this machine cannot build or load, each with the
# toolchain's or the loader's own words:
#   list_unbuildable.sh CASES OUTPUT run|no-run
# CASES holds one combination a line (matrix.cmake writes it): name, program, linked module, libraries to
# dlopen, environment, reason why a tool is missing; separated by |. OUTPUT has lines of
# "name<TAB>class<TAB>reason"; class: missing (a tool is not installed), link, shape, load.
set -u
cases=$1 output=$2 run=$3
cd "$(dirname "$cases")" || exit 1

# Usage: reason_of NAME PROGRAM LIBRARIES ENVIRONMENT
reason_of() {
  libraries=$(printf '%s' "$3" | tr ',' ' ')
  options=
  for file in $2 $libraries; do
    if [ -e "$file.unbuildable" ]; then
      printf '%s\t%s\n' "$1" "$(cat "$file.unbuildable")"
      return
    fi
  done
  [ "$run" = run ] || return
  for file in $libraries; do options="$options --dlopen ./$file"; done
  # Word splitting is meant: neither names nor settings hold spaces.
  # shellcheck disable=SC2086
  said=$(env $4 timeout 10 "./$2" --threads one $options </dev/null 2>&1)
  status=$?
  [ "$(printf '%s\n' "$said" | tail -n1)" = ready ] && return
  words=$(printf '%s' "$said" | tr '\n\t' '  ' | sed -E 's|/[^ :]*/||g; s|\./||g')
  printf '%s\tload\tstatus %s, %s\n' "$1" "$status" "$words"
}

while IFS='|' read -r name program _ libraries environment missing; do
  if [ -n "$missing" ]; then
    printf '%s\tmissing\t%s\n' "$name" "$missing"
  else
    reason_of "$name" "$program" "$libraries" "$environment"
  fi
done <"$cases" >"$output.new"
mv "$output.new" "$output"
printf 'resolver matrix: %s combinations, %s of them cannot be built or loaded here (%s)\n' \
  "$(wc -l <"$cases")" "$(wc -l <"$output")" "$output"
