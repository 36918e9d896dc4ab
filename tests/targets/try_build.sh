#!/bin/sh
# Builds one object, library or executable of the resolver matrix, or records why it cannot be
# built:
#  try_build.sh OUTPUT KIND COMMAND...
# KIND is what the output must turn out to be: object, pie, nopie, static, static-pie, library or
# library:RELOCATION (a TLS relocation that the access model must have left in it). If the toolchain
# fails or makes something else, there is OUTPUT.unbuildable, "class<TAB>reason", and no OUTPUT. The
# status is 0 in both cases, since a toolchain's limits must not stop the build. OUTPUT.tried is the
# stamp.
set -u
export LC_ALL=C
output=$1 kind=$2
shift 2
rm -f "$output" "$output.unbuildable"

# Usage: refuse CLASS REASON
refuse() {
  rm -f "$output"
  printf '%s\t%s\n' "$1" "$2" >"$output.unbuildable"
  : >"$output.tried"
  exit 0
}

for input in "$@"; do
  if [ -e "$input.unbuildable" ]; then
    cp "$input.unbuildable" "$output.unbuildable"
    : >"$output.tried"
    exit 0
  fi
done

if ! message=$("$@" 2>&1); then
  reason=$(printf '%s\n' "$message" |
    grep -m1 -iE 'error|unknown|cannot|incompatible|undefined|unrecognized' \
    || printf '%s\n' "$message" | head -n1)
  # Directories are left out, so that the reason is the same on every machine.
  refuse link "$(printf '%s' "$reason" | sed -E 's|/[^ :]*/||g' | tr '\t' ' ')"
fi

[ "$kind" = object ] && { : >"$output.tried"; exit 0; }
facts=$(readelf -hlW "$output") || refuse shape "readelf cannot read it"
type=$(printf '%s\n' "$facts" | awk '$1 == "Type:" { print $2; exit }')
interpreter=no
printf '%s\n' "$facts" | grep -q '^ *INTERP' && interpreter=yes
case $kind in
  pie) wanted="DYN yes" ;;
  nopie) wanted="EXEC yes" ;;
  static) wanted="EXEC no" ;;
  static-pie) wanted="DYN no" ;;
  # musl-gcc names an interpreter for libraries, too, and gold writes it down.
  library*) wanted="DYN $interpreter" ;;
  *) echo "try_build.sh: no such kind: $kind" >&2; exit 2 ;;
esac
[ "$type $interpreter" = "$wanted" ] \
  || refuse shape "the toolchain made type $type, interpreter: $interpreter (wanted $wanted)"
case $kind in
  library:*)
    readelf -rW "$output" | grep -qE "${kind#library:}" ||
      refuse shape "no relocation ${kind#library:} in it" ;;
esac
: >"$output.tried"
