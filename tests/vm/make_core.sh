#!/usr/bin/env bash
# Makes the frozen cores of testdata/cores: the core that a guest's kernel leaves of
# tests/targets/crasher.c (static, with musl) in mode "fault", the program, and what it said about
# its threads.
#
#  tests/vm/make_core.sh aarch64-6.1 | x86_64-5.10
#
# It needs the target labelscope_crashers in the build tree of that architecture. Each new core has
# other addresses and thread IDs, so all three files are written anew:
# testdata/cores/crasher-ARCH{.core.gz,.gz,.jsonl}.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

readonly guest=$1
arch=${guest%%-*}
if [[ $arch == "$(uname -m)" ]]; then build=$root_dir/build/dev; else build=$root_dir/build/$arch; fi
readonly crasher=$build/tests/targets/crasher/crasher-static
[[ -x $crasher ]] || die "$crasher is missing: build the target labelscope_crashers"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The guest's environment is empty, since a core holds that, too. All output consists of facts, in
# pieces that fit into a line.
cat >"$work/commands" <<'EOF_COMMANDS'
mkdir -p /tmp/crash && cp CRASHER /tmp/crash/crasher && cd /tmp/crash && mkfifo stdin && ulimit -c unlimited &&
echo core > /proc/sys/kernel/core_pattern &&
{ env -i ./crasher /tmp/crash fault < stdin > truth & exec 3> stdin; until grep -q ready truth; do sleep 0.1; done; echo die >&3; wait $!; true; } &&
sed -n "/^{.tid/s/^/FACT: truth /p" truth &&
gzip -9 -n -c core* | base64 -w 400 | sed "s/^/FACT: core /"
EOF_COMMANDS
printf 'make_core\t60\tcd /tmp\tbash -c %q\n' \
  "$(tr '\n' ' ' <"$work/commands" | sed "s,CRASHER,$crasher,")" >"$work/tests"
bash "$vm_dir/run.sh" --list "$work/tests" "$guest"

# facts <name>: prints the values of all facts with this name.
facts() { awk -F '\t' -v name="$1" '$1 == "fact" && $2 == name { print $3 }' "$vm_build/reports/$guest.tsv"; }
readonly stem=$root_dir/testdata/cores/crasher-$arch
facts core | base64 -d >"$work/core.gz"
if ! gzip --test "$work/core.gz" || [[ ! -s $work/core.gz ]]; then die "no core came out of the guest"; fi
facts truth >"$work/truth"
[[ -s $work/truth ]] || die "the crasher said nothing"
mv "$work/core.gz" "$stem.core.gz"
mv "$work/truth" "$stem.jsonl"
gzip -9 -n -c "$crasher" >"$stem.gz"
ls -l "$stem"* >&2
