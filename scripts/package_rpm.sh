#!/usr/bin/env bash
# This makes an .rpm of a tree of files, for distributions whose packages are of that kind. Its
# program needs no library, so the package needs no other one.
#
#   scripts/package_rpm.sh <tree> <version> <processor> <output folder>
#
# The files are installed where the tree has them: <tree>/usr/bin/labelscope to /usr/bin. The same
# tree, version and $SOURCE_DATE_EPOCH give the same bytes. It prints the path of what it made. It
# needs rpmbuild (package rpm of Debian, rpm-build of others), and root is not needed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit 0; }
(($# == 4)) || { printf 'package_rpm.sh: a tree, a version, a processor and a folder, please (--help)\n' >&2; exit 2; }
tree=$(cd -- "$1" && pwd -P)
version=$2 processor=$3
output=$(cd -- "$4" && pwd -P)
readonly tree version processor output
command -v rpmbuild >/dev/null || die "rpmbuild is not installed"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  cat <<EOF_SPEC
Name: labelscope
Version: ${version//-/.}
Release: 1
Summary: Where the time of a running process goes, by label
License: Apache-2.0 AND (GPL-2.0-only OR BSD-2-Clause)
AutoReqProv: no
%global debug_package %{nil}
%global _build_id_links none
%global __os_install_post %{nil}
%description
labelscope samples the threads of a running program, with eBPF or ptrace, and
reads from outside which labels each has set (tenant, route, job: Custom Labels
ABI v1). It also shows the labels of live processes and core files, and checks
that a library publishes its labels as the ABI wants it. The program is linked
statically and runs with every libc.
%install
mkdir -p %{buildroot}
cp -a '$tree/.' %{buildroot}
# The tables that root's recordings have kept (record --unwind-cache) are of no use without it. A
# script of a shell would need a package that has one.
%postun -p <lua>
if tonumber(arg[2]) == 0 then os.execute("rm -rf /var/cache/labelscope") end

%files
%defattr(-, root, root)
EOF_SPEC
  # Folders of its own belong to the package, too, and go with it.
  (cd -- "$tree" && find . \( ! -type d -o -path '*/labelscope*' -type d \) -printf '%y /%P\n') | LC_ALL=C sort -k 2 |
    sed 's,%,%%,g; s,^d \(.*\),%dir "\1",; s,^[^%] \(.*\),"\1",'
} >"$work/labelscope.spec"

mkdir "$work/made"
rpmbuild -bb --quiet --target "$processor" \
  --define "_topdir $work" --define "_rpmdir $work/made" --define "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" \
  --define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
  --define 'clamp_mtime_to_source_date_epoch 1' --define 'source_date_epoch_from_changelog 0' \
  --define '_binary_payload w9.gzdio' \
  "$work/labelscope.spec" >"$work/log" 2>&1 || die "rpmbuild: $(cat "$work/log")"
for file in "$work"/made/*.rpm; do
  mv -f "$file" "$output/"
  echo "$output/${file##*/}"
done
