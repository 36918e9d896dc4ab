#!/usr/bin/env bash
# This prints the numbers of a preset, NAME VALUE on each line, as the headers of a server have
# them. It compiles, and runs nothing, so that the headers may be those of another processor.
#
#   scripts/presets/numbers.sh postgres|php ROOT [COMPILER]
#
# ROOT is a folder with usr/include, such as / or what scripts/debian_packages.sh extracts of
# postgresql-server-dev-15, libssl-dev and krb5-multidev, or of php8.2-dev. Of several versions in
# it, the last one is taken. COMPILER is gcc, or that of the processor of these packages.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../lib.sh"

(($# >= 2)) || { usage >&2; exit 2; }
server=$1 include=${2%/}/usr/include compiler=${3:-gcc}
shopt -s nullglob
case $server in
  postgres) versions=("$include"/postgresql/*/server) && within=('') ;;
  php) versions=("$include"/php/2*) && within=('' /main /Zend /TSRM) ;;
  *) usage >&2; exit 2 ;;
esac
((${#versions[@]})) || die "there are no headers of $server in $include"
folders=()
for folder in "${within[@]}"; do folders+=("-I${versions[-1]}$folder"); done
# Those of other packages, and what differs between processors.
folders+=("-I$include/postgresql" "-I$include" "-I$include/mit-krb5" "-I$include/$("$compiler" -dumpmachine)")
"$compiler" -S -w -o - "${folders[@]}" "-I$root_dir/scripts/presets" "$root_dir/scripts/presets/$server.c" |
  sed -n 's/^[[:space:]]*@number //p'
