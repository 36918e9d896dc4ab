# A file that cannot be checked has a clear reason and a status of its own, and the rest is checked
# all the same.
source "${BASH_SOURCE%/*}/../lib.sh"
good=$VIOLATORS/static/good-program/program
library=$VIOLATORS/static/good-library/libcustomlabels.so

# unchecked <what it says> <argument...>: checks that nothing was checked, and why.
unchecked() {
  local words=$1
  shift
  run check "$@"
  expect_status "$exit_unchecked" "$*"
  expect_shown "not checked +$words"
  expect_shown '^incomplete: '
}

unchecked './missing: .*No such file' ./missing
printf 'hello\n' >text
unchecked 'text: not an ELF file' text "$good"
expect_shown 'program: 11 rules looked at, all met'
: >empty
unchecked 'empty: ' empty
mkfifo fifo
unchecked 'fifo: is no regular file' fifo
unchecked '/proc/self/status: .*kernel makes up' /proc/self/status

# A file that is cut anywhere gives an answer or a reason, never a crash.
size=$(stat -c %s "$library")
for part in 1 8 20 64 200 1000 $((size / 3)) $((size / 2)) $((size - 100)); do
  head -c "$part" "$library" >libcustomlabels-cut.so
  run check --format json libcustomlabels-cut.so
  [[ $status == "$exit_ok" || $status == "$exit_findings" || $status == "$exit_unchecked" ]] ||
    fail "cut after $part bytes: status $status"
done
head -c 200 "$library" >libcustomlabels-cut.so
unchecked 'libcustomlabels-cut\.so: ' libcustomlabels-cut.so

# These are files of another kind that do not publish: byte 4 is the class, 5 the byte order, 18 the
# processor, 16 the type.
patched() { cp /bin/true "$1" && printf "$2" | dd of="$1" bs=1 seek="$3" conv=notrunc status=none; }
patched bits32 '\1' 4
unchecked 'bits32: ' bits32
patched big '\2' 5
unchecked 'big: ' big
patched sparc '\2' 18
unchecked 'sparc: neither x86-64 nor aarch64' sparc
# One that publishes is a violation, since the writer should not be there.
cp "$library" libcustomlabels-sparc.so && printf '\2' |
  dd of=libcustomlabels-sparc.so bs=1 seek=18 conv=notrunc status=none
run check libcustomlabels-sparc.so
expect_status "$exit_findings" "a publisher for another processor"
expect_shown 'error LS001 platform: it is for sparc'
# One for another system is a violation, too: byte 7.
cp "$library" libcustomlabels-bsd.so && printf '\11' |
  dd of=libcustomlabels-bsd.so bs=1 seek=7 conv=notrunc status=none
run check libcustomlabels-bsd.so
expect_status "$exit_findings" "a publisher for FreeBSD"
expect_shown 'error LS001 platform: it is for .* FreeBSD'

# If there is nothing to check, the result is not "clean".
unchecked '/bin/true: publishes no labels' /bin/true
unchecked '.*: publishes no labels.*; but it is linked with libcustomlabels\.so.*check that file' \
  "$LINKED_WRITER_PROGRAM"
mkdir nothing && cp /bin/true nothing/ && cp text nothing/
unchecked 'nothing: no file below it publishes labels' nothing
# This is true whatever else is named with it.
unchecked 'nothing: no file below it publishes labels' "$library" nothing
expect_shown 'libcustomlabels\.so: [0-9]+ rules looked at, all met'
# But if a publisher of the directory was named as well, by any name, the directory has one.
mkdir something && ln -s "$library" something/libcustomlabels.so
run check "$library" something something/.
expect_status "$exit_ok" "a file, and its directory twice"
[[ $(grep -c 'rules looked at, all met' "$work/stdout") == 1 ]] ||
  fail "one file was checked more than once"
# A directory may have such files.
cp "$library" nothing/
run check nothing
expect_status "$exit_ok" "a directory with a publisher"
# Damaged files in it are reported, and the check does not fail.
head -c 300 "$library" >nothing/damaged
run check nothing
expect_status "$exit_ok" "a directory with a damaged file"
expect_shown 'damaged was passed over: '
# They do fail it if they have a publisher's name.
head -c 300 "$library" >nothing/libcustomlabels-damaged.so
unchecked 'nothing/libcustomlabels-damaged\.so: ' nothing
: >nothing/libcustomlabels-damaged.so
unchecked 'nothing/libcustomlabels-damaged\.so: not an ELF file' nothing
rm nothing/libcustomlabels-damaged.so
# Files of other systems are ignored.
printf '\317\372\355\376\14' >nothing/customlabels.node
run check nothing
expect_status "$exit_ok" "a directory with a publisher for macOS"

# This file is written to all the time.
cp "$library" libcustomlabels-busy.so
(while :; do
  head -c "$((RANDOM % size))" "$library" >libcustomlabels-busy.so
  cat "$library" >libcustomlabels-busy.so
done) 2>/dev/null &
children+=("$!")
for _ in {1..40}; do
  run check --format json libcustomlabels-busy.so
  [[ $status == "$exit_ok" || $status == "$exit_findings" || $status == "$exit_unchecked" ]] ||
    fail "a busy file: status $status"
done

# A name that would move the cursor arrives escaped, in each format.
cp text $'evil\e[2J'
for format in text json junit sarif github; do
  run check --format "$format" $'evil\e[2J'
  expect_status "$exit_unchecked" "an evil name as $format"
  if grep -q $'\e' "$work/stdout" "$work/stderr"; then fail "an escape sequence in $format"; fi
done

cp "$good" secret && chmod 0 secret
if ((EUID != 0)); then
  unchecked 'secret: .*Permission denied' secret
elif has_other_user; then
  "${drop[@]}" "$work/labelscope" check secret >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
  expect_status "$exit_unchecked" "a file that may not be read"
  expect_shown 'secret: .*Permission denied'
fi

# A full stdout is an error, and so is an existing file. Neither is a finding.
"$LABELSCOPE" check "$good" >/dev/full 2>"$work/stderr"
status=$?
expect_status "$exit_unchecked" "a full disk"
: >taken
run check -o taken "$good"
expect_status "$exit_usage" "an output that exists"
expect_said 'taken exists already'
[[ ! -s taken ]] || fail "the file was replaced"
run check -o taken --overwrite "$good"
expect_status "$exit_ok" "--overwrite"
[[ -s taken ]] || fail "the file was not written"
