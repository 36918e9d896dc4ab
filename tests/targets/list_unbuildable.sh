#!/bin/sh
# Writes the combinations of the resolver matrix that this machine cannot build or load, each with the
# toolchain's or the loader's own words:
#   list_unbuildable.sh CASES OUTPUT run|no-run
# CASES is what matrix.cmake writes (its head tells the fields). OUTPUT has lines of
# "name<TAB>class<TAB>reason"; class: missing (a tool is not installed), link, shape, load.
set -u
cases=$1 output=$2 run=$3
cd "$(dirname "$cases")" || exit 1

# Usage: reason_of NAME PROGRAM OPTION LIBRARIES ENVIRONMENT
reason_of() {
  libraries=$(printf '%s' "$4" | tr ',' ' ')
  options=
  [ -n "$3" ] && options="${3%%=*} ./${3#*=}"
  for file in $2 ${3#*=} $libraries; do
    if [ -e "$file.unbuildable" ]; then
      printf '%s\t%s\n' "$1" "$(cat "$file.unbuildable")"
      return
    fi
  done
  [ "$run" = run ] || return
  for file in $libraries; do options="$options --dlopen ./$file"; done
  # Word splitting is meant: neither names nor settings hold spaces.
  # shellcheck disable=SC2086
  said=$(env $5 timeout 10 "./$2" --threads one $options </dev/null 2>&1)
  status=$?
  [ "$(printf '%s\n' "$said" | tail -n1)" = ready ] && return
  words=$(printf '%s' "$said" | tr '\n\t' '  ' | sed -E 's|/[^ :]*/||g; s|\./||g')
  printf '%s\tload\tstatus %s, %s\n' "$1" "$status" "$words"
}

while IFS='|' read -r name program _ option libraries environment missing; do
  if [ -n "$missing" ]; then
    printf '%s\tmissing\t%s\n' "$name" "$missing"
  else
    reason_of "$name" "$program" "$option" "$libraries" "$environment"
  fi
done <"$cases" >"$output.new"
mv "$output.new" "$output"
printf 'resolver matrix: %s combinations, %s of them cannot be built or loaded here (%s)\n' \
  "$(wc -l <"$cases")" "$(wc -l <"$output")" "$output"
