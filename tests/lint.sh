#!/usr/bin/env bash
# Checks what a reader of the tree may rely on and no compiler checks: which files may include or
# print what, and names of tests that ctest can find.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=0

# forbid <why> <pattern> <path...>
forbid() {
  local why=$1 pattern=$2 found
  shift 2
  found=$(grep -rnE --include='*.h' --include='*.cc' --include='*.c' --include='*.hpp' -- "$pattern" "$@")
  [[ -z $found ]] && return
  printf 'FAILED: %s\n%s\n' "$why" "$found"
  failed=1
}

# forbid_but <why> <pattern> <paths that may, as a pattern> <path...>
forbid_but() {
  local why=$1 pattern=$2 allowed=$3 found
  shift 3
  found=$(grep -rnE --include='*.h' --include='*.cc' --include='*.c' --include='*.hpp' -- "$pattern" "$@" | grep -Ev "$allowed")
  [[ -z $found ]] && return
  printf 'FAILED: %s\n%s\n' "$why" "$found"
  failed=1
}

# forbid_comments <why> <pattern, as Perl has them> <path...>
forbid_comments() {
  local why=$1 pattern=$2 found
  shift 2
  found=$(LC_ALL=C.UTF-8 grep -rnP --include='*.h' --include='*.hpp' --include='*.c' --include='*.cc' \
    --include='*.mjs' --include='*.java' -- "$pattern" "$@")
  [[ -z $found ]] && return
  printf 'FAILED: %s\n%s\n' "$why" "$found"
  failed=1
}

# A build may be in a home that only its owner may enter. Another user runs copies of the programs that
# programs.sh names in capitals (has_other_user in tests/cli/lib.sh).
found=$(for file in tests/cli/*.sh tests/cli/*/*.sh; do
  sed -e ':next' -e '/\\$/N; s/\\\n//; t next' "$file" |
    grep -E '(setpriv .*--reuid|drop\[@\]).*"\$\{?[A-Z_]+\}?"' | sed "s|^|$file: |"
done)
if [[ -n $found ]]; then
  printf 'FAILED: another user runs programs of the build, and not copies\n%s\n' "$found"
  failed=1
fi

# writer-lib <- reader <- bpf <- cli: each may use only what stands to its left.
forbid "writer-lib uses nothing of the others" '#include [<"](labelscope|bpf|cli)/' writer-lib
forbid "reader knows neither BPF nor the command line" '#include [<"](bpf|cli)/|#include <bpf/' \
  reader
# The rooms of the reader, likewise. A public header belongs to the room that implements it.
rooms=(base findings elf process process_context recipe labels sources plan ptrace unwind_table unwind core sampling explain c_api)
room_of() {
  local name=${1%.h}
  case $1 in
    labelscope/labelscope.h) echo c_api ;;
    labelscope/*)
      for room in "${rooms[@]::${#rooms[@]}-1}"; do
        [[ -e reader/src/$room/${name#*/}.cc ]] && echo "$room"
      done
      ;;
    */*) echo "${1%%/*}" ;;
  esac
}
left=()
for room in "${rooms[@]}"; do
  [[ -d reader/src/$room ]] || { echo "FAILED: reader/src/$room is not there"; failed=1; }
  left+=("$room")
  for used in $(
    sed -n 's/^#include "\(.*\)"$/\1/p' reader/src/"$room"/{*,*/*}.{h,cc} 2>/dev/null | sort -u
  ); do
    its=$(room_of "$used")
    [[ -z $its || $used == customlabels/* || " ${left[*]} " == *" $its "* ]] && continue
    echo "FAILED: reader/src/$room uses $used of a room that stands to its right: ${rooms[*]}"
    failed=1
  done
done
for entry in reader/src/*; do
  [[ " ${rooms[*]} " == *" ${entry##*/} "* ]] && continue
  echo "FAILED: $entry is in no room of the reader"
  failed=1
done
forbid_but "a label source is known by its number only in its room (docs/architecture.md, A label source)" \
  'LS_SOURCE_([ABD-Z]|CU)' '^(reader/src/sources/|reader/include/labelscope/(tls_recipe|preset_program)\.h:|bpf/include/)' \
  reader bpf cli
forbid_but "a public header includes public ones" '#include "' '#include "labelscope/' \
  reader/include
# The files of the writer, likewise (writer-lib/README.md), and what a header declares is defined
# beside it.
order=(bytes label_block label_handle thread_state label_set current_set thread_draft thread_labels thread_scope
  label_set_api run_with)
left=()
for file in "${order[@]}"; do
  left+=("$file")
  for used in $(
    sed -n 's/^#include "\([^/]*\)\.h"$/\1/p' writer-lib/src/"$file".[ch] 2>/dev/null
  ); do
    [[ " ${left[*]} " == *" $used "* ]] && continue
    echo "FAILED: $file in writer-lib/src uses $used, which stands to its right: ${order[*]}"
    failed=1
  done
  for name in $(grep -oE '\bcl_[a-z_]+\(' "writer-lib/src/$file.h" 2>/dev/null); do
    grep -qE "^[a-z].*[ *]${name%(}\(" "writer-lib/src/${file}.c" ||
      { echo "FAILED: $name of $file.h is not in $file.c"; failed=1; }
  done
done
# Java calls the writer as every program does, by its public headers.
found=$(grep -rnE '#include "' writer-lib/java | grep -vE '"(customlabels/writer|scopes|utf16)\.h"')
[[ -z $found ]] || { printf 'FAILED: writer-lib/java uses more than the writer offers\n%s\n' "$found"; failed=1; }
forbid "the writer does not know Java" 'jni\.h|java/' writer-lib/src writer-lib/include
forbid "bpf does not know the command line" '#include [<"]cli/' bpf
# The rooms of bpf, likewise (bpf/README.md). The programs share only the wire with the rooms of
# user space.
rooms=(wire programs load unwind snapshot sampling)
for ((i = 0; i < ${#rooms[@]}; i++)); do
  usable=$(IFS='|'; echo "${rooms[*]::i + 1}")
  forbid_but "bpf/${rooms[i]} uses a room that stands to its right: ${rooms[*]}" '#include "bpf/' \
    "#include \"bpf/($usable)/" bpf/"${rooms[i]}"
done
forbid_but "only programs include the headers of programs" '#include "bpf/programs/' \
  '^bpf/programs/' bpf
forbid "what is installed uses no room of bpf" '#include "bpf/' bpf/include
for entry in bpf/*; do
  [[ $entry == bpf/include || " ${rooms[*]} " == *" ${entry##*/} "* ]] && continue
  [[ -f $entry && $entry != *.@(h|c|cc) ]] && continue
  echo "FAILED: $entry is in no room of bpf"
  failed=1
done
# The rooms of the command line, likewise; cmd_*.cc uses them all.
rooms=(text profile format answer host process preset options worker names symbol unwind inspect report record doctor dump step check)
for ((i = 0; i < ${#rooms[@]}; i++)); do
  usable=$(IFS='|'; echo "${rooms[*]::i + 1}")
  forbid_but "cli/${rooms[i]} uses a room that stands to its right: ${rooms[*]}" '#include "cli/' \
    "#include \"cli/($usable)/" cli/"${rooms[i]}"
done
# Inside of formats: what they share, and rooms that do not use each other. OTLP is made of the same
# fields as pprof.
forbid_but "cli/format/common knows no format" '#include "cli/format/' \
  '#include "cli/format/(common/|format\.h)' cli/format/common
for room in pprof jsonl otlp firefox page; do
  forbid_but "cli/format/$room uses another format" '#include "cli/format/' \
    "#include \"cli/format/(common/|format\.h|recording_reader\.h|pprof/pprof_parts\.h|$room/)" \
    "cli/format/$room"
done
for entry in cli/*/; do
  [[ " ${rooms[*]} " == *" $(basename "$entry") "* ]] && continue
  echo "FAILED: $entry is no room of the command line"
  failed=1
done
forbid "libbpf is used in bpf/ only" '#include <bpf/' reader cli writer-lib
forbid_but "libelf and libdw are used in reader/ and cli/names/ only" \
  '#include <(gelf|libelf|elfutils/|dwarf)' \
  '^cli/names/' bpf writer-lib cli
forbid_but "CLI11 is used in cli/options/ only" '#include <CLI/' '^cli/options/' reader bpf \
  writer-lib cli
forbid_but "spdlog is used in cli/host/log.cc only" '#include <spdlog' '^cli/host/log.cc' reader \
  bpf writer-lib cli
forbid_but "libcap-ng is used where rights are given up only" '#include <cap-ng' \
  '^cli/(host/rights|worker/seal).cc' reader bpf writer-lib cli
forbid_but "libseccomp is used in cli/worker/seal.cc and cli/profile/wait_reason.cc only" \
  '#include <seccomp' '^cli/(worker/seal|profile/wait_reason).cc' reader bpf writer-lib cli
forbid_but "capstone is used in cli/step/instruction.cc only" '#include <capstone' \
  '^cli/step/instruction.cc' reader bpf writer-lib cli
forbid "the libraries print nothing" 'std::(cout|cerr|clog)|\b(printf|puts|perror|fprintf) ?\(' \
  reader bpf \
  writer-lib/src
forbid "formats are pure: they open no files and print nothing" \
  'std::(cout|cerr|ofstream)|\bopen ?\(' cli/format
# clang-format leaves comments as they are.
comment='(^\s*(//|/?\*)|\s//\s)'
forbid_comments "comments have at most 100 columns" "^(?=.{101}).*?$comment" \
  bpf cli reader tests writer-lib
forbid_comments "programs do not tell: they say, know, show, report, detect (CONTRIBUTING.md, Style)" \
  "$comment.*\b(told|tells)\b" bpf cli reader writer-lib
# clang-format joins the lines of a comment, also the licence with what follows it.
licence='SPDX-License-Identifier: *[A-Za-z0-9.-]+( +(OR|AND) +[A-Za-z0-9.-]+)*( \*/)?$'
found=$(grep -rnI --exclude-dir={build,.git} --exclude=lint.sh 'SPDX-License-Identifier:' . |
  grep -Ev "$licence")
if [[ -n $found ]]; then
  printf 'FAILED: a line with a licence has nothing else in it\n%s\n' "$found"
  failed=1
fi
# A header includes the standard headers of what it names. Otherwise it compiles only behind others.
missing=$(find bpf cli reader tests writer-lib -name '*.h' -print | sort | xargs awk -v names='
    array:array atomic:atomic byte:cstddef chrono:chrono deque:deque filesystem:filesystem
    forward:utility function:functional lock_guard:mutex make_unique:memory map:map move:utility
    mutex:mutex nullopt:optional optional:optional pair:utility set:set shared_ptr:memory
    size_t:cstddef span:span string:string thread:thread tuple:tuple unique_ptr:memory
    unordered_map:unordered_map unordered_set:unordered_set variant:variant vector:vector
    int8_t:cstdint int16_t:cstdint int32_t:cstdint int64_t:cstdint
    uint8_t:cstdint uint16_t:cstdint uint32_t:cstdint uint64_t:cstdint' '
  BEGIN { for (n = split(names, rows); n > 0; n--) { split(rows[n], row, ":"); header[row[1]] = row[2] } }
  FNR == 1 { delete has }
  match($0, /^#include <[a-z_]+>/) { has[substr($0, 11, RLENGTH - 11)] }
  { sub(/\/\/.*/, ""); gsub(/"[^"]*"/, "") }
  /^#/ { next }
  { while (match($0, /std::[a-z_0-9]+/)) {
      name = substr($0, RSTART + 5, RLENGTH - 5)
      $0 = substr($0, RSTART + RLENGTH)
      if (name in header && !(header[name] in has)) {
        print FILENAME ":" FNR ": std::" name " without <" header[name] ">"
        has[header[name]]
      }
    } }')
if [[ -n $missing ]]; then
  printf 'FAILED: headers include what they use (CONTRIBUTING.md, Style)\n%s\n' "$missing"
  failed=1
fi
# The preset `release` compiles sources of a folder together (scripts/faster_builds.cmake). A name that
# two of them have for themselves would then be defined twice, or be an overload that another file calls.
twice=$(find bpf cli reader/src -name '*.cc' | sort | xargs awk '
  FNR == 1 { inside = 0; folder = FILENAME; sub(/\/[^\/]*$/, "", folder) }
  /^namespace \{/ { inside = 1; next }
  /^}  \/\/ namespace$/ { inside = 0 }
  !inside || !/^[A-Za-z]/ || /^(using namespace|using enum|template|namespace|static_assert)/ { next }
  { sub(/ *\/\/.*/, "")
    name = $0
    sub(/^(enum )?(class|struct|union|enum|using) /, "", name)
    sub(/ ?([({=[;]| :| final).*/, "", name)
    sub(/.*[ *&>]/, "", name)
    if (name !~ /^[A-Za-z_0-9]+$/) next
    key = folder " " name
    # Two files may give a type the same short name.
    if (key in file && file[key] != FILENAME && !(/^using / && line[key] == $0)) {
      print FILENAME ":" FNR ": " name " is also in " file[key]
    }
    file[key] = FILENAME; line[key] = $0 }')
if [[ -n $twice ]]; then
  printf 'FAILED: names in unnamed namespaces are distinct in a folder (CONTRIBUTING.md, Style)\n%s\n' "$twice"
  failed=1
fi
# CMake splits the name at a semicolon. Both halves match nothing, and ctest calls that a success.
forbid "no semicolon in the name of a test" 'TEST_CASE\([^)]*;' tests
# A header that is forgotten breaks only programs that use the installation.
for header in reader/include/labelscope/*.h; do
  name=$(basename "$header")
  grep -Eq "[ /]${name//./\\.}([ ,)]|\$)" reader/cmake/package.cmake && continue
  echo "FAILED: reader/cmake/package.cmake does not install $name"
  failed=1
done
# The page must have exactly the findings of the code, since users look them up there.
codes=$(sed -n '/kNames/,/^}/s/.*, "\(.*\)"}.*/\1/p' reader/src/findings/finding.cc | sort)
listed=$(sed -n '/^\.Sh FINDINGS/,/^\.Sh PERMISSIONS/s/^\.It Li //p' docs/man/labelscope-dump.1 |
  sort)
if [[ $codes != "$listed" ]]; then
  echo "FAILED: FINDINGS in docs/man/labelscope-dump.1 and kNames in reader/src/findings/finding.cc differ:"
  diff - <(echo "$listed") <<<"$codes"
  failed=1
fi
# The same for formats: -f and the extensions.
rows=$(sed -n '/kFormats\[\]/,/^};/p' cli/format/format.h)
names=$(sed -n 's/.*\.name = "\([^"]*\)".*/\1/p' <<<"$rows" | paste -sd'|')
grep -q -- "-format Cm ${names//|/ | }\$" docs/man/labelscope-record.1 ||
  { echo "FAILED: -f in docs/man/labelscope-record.1 does not name the formats of cli/format/format.h: $names"; failed=1; }
for extension in $(grep -o 'extension = "[^"]*"' <<<"$rows" | cut -d'"' -f2); do
  grep -qF ".It Pa $extension" docs/man/labelscope-record.1 && continue
  echo "FAILED: docs/man/labelscope-record.1 does not explain the files $extension of cli/format/format.h"
  failed=1
done
# File names in comments, pages and manual pages must be those of existing files, whole or from a
# folder on. What stands behind a scheme, in <> or before a line's number is left out, and so are
# files of other projects and files that a build makes.
theirs='^(include/(linux|uapi)|arch|fs|kernel|linux|asm|elfutils|nptl|sysdeps|src/internal|specs|docs-developer)/'
theirs+='|^(vmlinux[.]h|stddef[.]h|custom-labels-v1[.]md|(my|use)_labels[.]c|a[.]cc|Server[.]java|page_assets[.]cc|programs[.]sh|cmake/labelscopeConfig[.]cmake)$'
files=$(find -- * -name build -prune -o -type f -print)
missing=$(grep -E '(\.(h|hpp|c|cc|java|mjs|sh|py|cmake|md|[137])|CMakeLists\.txt)$' <<<"$files" |
  xargs awk '
    FNR == 1 { page = FILENAME ~ /\.(md|[137])$/; code = 0 }
    FILENAME ~ /\.md$/ && /^ *```/ { code = !code }
    page && !code { print FILENAME ":" FNR ":" $0 }
    !page && match($0, /(^|[ ;{}])(\/\/|\/?\*|#) /) { print FILENAME ":" FNR ":" substr($0, RSTART) }' |
  sed -E 's,https?://[^ )]*,,g; s,<[^ <>]+\.[a-z]+>,,g' |
  grep -oP '^[^:]+:[0-9]+:|(?<![\w*/.$}>-])(\.\./)*[A-Za-z_][\w./-]*\.(h|hpp|c|cc|java|mjs|sh|py|cmake|md)\b(?![\w(-]|:\d)' |
  awk -v theirs="$theirs" '
    NR == FNR { for (known[$0]; sub(/^[^\/]*\//, ""); known[$0]) {} next }
    /^[^:]+:[0-9]+:$/ { place = $0; next }
    { gsub(/\.\.\//, "") }
    !($0 in known) && $0 !~ theirs { print place " " $0 }' <(echo "$files") -)
if [[ -n $missing ]]; then
  printf 'FAILED: comments and pages name files that are not there\n%s\n' "$missing"
  failed=1
fi
# Links between pages must lead to a file, and to a heading of it.
headings() { sed -n 's/^#\+ //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'; }
while IFS=: read -r page target; do
  to=$(dirname "$page")/${target%%#*}
  [[ $target == \#* ]] && to=$page
  [[ -e $to ]] && { [[ $target != *\#* ]] || headings "$to" | grep -qxF -- "${target#*#}"; } &&
    continue
  echo "FAILED: $page has a link to $target, which is not there"
  failed=1
done < <(grep '\.md$' <<<"$files" | xargs grep -oHE '\]\([^) :]+\)' | sed 's/:\](/:/; s/)$//')
# The tables of tests/README.md name scenarios of the command line.
for name in $(grep -oP '`cli/\K[a-z_0-9]+(?=`)' tests/README.md | sort -u); do
  compgen -G "tests/cli/*/$name.sh" >/dev/null && continue
  echo "FAILED: tests/README.md names cli/$name, and there is no tests/cli/*/$name.sh"
  failed=1
done
# Manual pages must be well-formed.
if command -v mandoc >/dev/null; then
  mandoc -T lint -W warning docs/man/* ||
    { echo "FAILED: a manual page is not well-formed"; failed=1; }
fi
exit $failed
