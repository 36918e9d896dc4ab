#!/bin/sh
# Writes the combinations of the resolver matrix that this machine cannot build or load, each with
# the toolchain's or the loader's own words:
#  list_unbuildable.sh CASES OUTPUT run|no-run [EMULATOR...]
# CASES is what matrix.cmake writes (its head describes the fields). OUTPUT has lines of
# "name<TAB>class<TAB>reason"; the classes are missing (a tool is not installed), link, shape, load.
# EMULATOR loads programs for another processor.
set -u
cases=$1 output=$2 run=$3
shift 3
cd "$(dirname "$cases")" || exit 1

# reason_of [EMULATOR...]: prints the reason, with the case's fields in variables.
reason_of() {
  libraries=$(printf '%s' "$libraries" | tr ',' ' ')
  options=
  [ -n "$option" ] && options="${option%%=*} ./${option#*=}"
  for file in $program ${option#*=} $libraries; do
    if [ -e "$file.unbuildable" ]; then
      printf '%s\t%s\n' "$name" "$(cat "$file.unbuildable")"
      return
    fi
  done
  [ "$run" = run ] || return
  for file in $libraries; do options="$options --dlopen ./$file"; done
  # Words are split on purpose: neither names nor settings have spaces.
  # shellcheck disable=SC2086
  said=$(env $environment timeout 10 "$@" "./$program" --threads one $options </dev/null 2>&1)
  status=$?
  [ "$(printf '%s\n' "$said" | tail -n1)" = ready ] && return
  words=$(printf '%s' "$said" | tr '\n\t' '  ' | sed -E 's|/[^ :]*/||g; s|\./||g')
  printf '%s\tload\tstatus %s, %s\n' "$name" "$status" "$words"
}

while IFS='|' read -r name program _ option libraries environment missing; do
  if [ -n "$missing" ]; then
    printf '%s\tmissing\t%s\n' "$name" "$missing"
  else
    reason_of "$@"
  fi
done <"$cases" >"$output.new"
mv "$output.new" "$output"
printf 'resolver matrix: %s combinations, %s of them cannot be built or loaded here (%s)\n' \
  "$(wc -l <"$cases")" "$(wc -l <"$output")" "$output"
