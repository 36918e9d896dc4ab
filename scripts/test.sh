#!/usr/bin/env bash
# Builds labelscope and runs its tests, packages included. The last line is "N passed, N failed, N skipped";
# the exit status is 0 only if nothing failed. What was skipped is listed with the reason.
#
#   scripts/test.sh [--preset dev|asan|tsan|tidy] [--no-sudo] [--aarch64] [--no-guests|--guests|--all-kernels] [ctest argument...]
#   scripts/test.sh -R symbolizer           tests whose name matches
#   scripts/test.sh -L unit                 one tier (tests/README.md)
#   scripts/test.sh --no-guests             without virtual machines
#   scripts/test.sh --all-kernels           in virtual machines with every kernel that is supported
#   scripts/test.sh --aarch64               and for that processor: the unit tests in an emulator, and packages
#
# Virtual machines (tests/vm) are aarch64 with Linux 6.1, twice, and x86-64 with 5.10. They are left out where ctest has
# arguments, unless --guests asks for them, and for other presets than dev. With LABELSCOPE_CI=1 it is a failure if one of
# them cannot be had.
#
# Tests that sample with BPF need root: without it they run through sudo where there is sudo, and are skipped
# with --no-sudo. The preset tidy runs clang-tidy over every source file and no test.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  sed -n '2,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

preset=dev
use_sudo=1
aarch64=0
guests=''
ctest_arguments=()
while (($# > 0)); do
  case $1 in
    --preset) preset=${2:-} && shift ;;
    --preset=*) preset=${1#*=} ;;
    --no-sudo) use_sudo=0 ;;
    --aarch64) aarch64=1 ;;
    --all-kernels) guests=all ;;
    --guests) guests=usual ;;
    --no-guests) guests=none ;;
    -h | --help) usage; exit 0 ;;
    *) ctest_arguments+=("$1") ;;
  esac
  shift || break  # --preset without a value
done
case $preset in
  dev | asan | tsan | tidy) ;;
  *) printf 'test.sh: unknown preset: %s (dev, asan, tsan or tidy)\n' "$preset" >&2; exit 2 ;;
esac

if [[ $preset != dev ]]; then
  guests=none
elif [[ -z $guests ]]; then
  if ((${#ctest_arguments[@]} == 0)); then guests=usual; else guests=none; fi
fi

# A build that fails is one failure: whoever reads only the last line must not take it for success.
build_failed() {
  printf 'error: %s\n' "$1" >&2
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

bash "$root_dir/scripts/setup.sh" --tests

readonly build=$root_dir/build/$preset
configure "$build" --preset "$preset" -DBUILD_TESTING=ON || build_failed "configuring failed"
say "Building with $(build_jobs) jobs"
cmake --build "$build" --parallel "$(build_jobs)" >&2 || build_failed "the build failed"
if [[ $preset == tidy ]]; then
  say "clang-tidy has nothing to say"
  echo "1 passed, 0 failed, 0 skipped"
  exit 0
fi

as_root_if_allowed() {
  if ((EUID != 0 && use_sudo)) && can_be_root; then
    sudo -- env PATH="$PATH" ${TMPDIR:+TMPDIR="$TMPDIR"} "$@"
  else
    "$@"
  fi
}
if ((EUID != 0)); then
  if ((use_sudo)) && can_be_root; then
    say "Running the tests through sudo: those that sample with BPF need it"
  else
    say "Running the tests without root: those that need it are skipped"
  fi
fi

# Tests that watch live processes want processors: there are no more of them at a time than there are processors, and
# those that measure have the machine to themselves (RUN_SERIAL). The resolver matrix mostly waits for samples of programs
# that wait themselves: in 1,344 cases two processors are busy for a third of the time when two run at once.
readonly live='^(process|kernel|cli|consumer|bench)$'
readonly matrix='^matrix$'
processors=$(nproc)
readonly processors
readonly reports=$build/reports
rm -rf "$reports" 2>/dev/null || as_root rm -rf "$reports"
mkdir -p "$reports"

# run_tests <name> <ctest argument...>: leaves reports/<name>.xml; returns ctest's status.
run_tests() {
  local name=$1
  shift
  as_root_if_allowed ctest --test-dir "$build" --output-on-failure --no-tests=ignore --timeout 300 \
    --output-junit "$reports/$name.xml" "$@" ${ctest_arguments[@]+"${ctest_arguments[@]}"} >&2
}

status=0
say "Running the tests that can share the machine"
run_tests parallel --parallel "$processors" --label-exclude "$live" || status=1
say "Running the resolver matrix"
run_tests matrix --parallel $((processors + 4)) --label-regex "$matrix" || status=1
say "Running the tests that watch live processes"
run_tests live --parallel "$processors" --label-regex "$live" --label-exclude "$matrix" || status=1
if ((EUID != 0 && use_sudo)) && can_be_root; then give_back "$build"; fi

# For another processor: a build of its own, whose tests are other tests. What it has to say where it cannot be had is
# its last line.
aarch64_state=''
if [[ $preset == dev && $(uname -m) == x86_64 ]] && { ((aarch64)) || [[ $guests != none ]]; }; then
  aarch64_status=0
  aarch64_work=(--for-guests)
  if ((aarch64)); then aarch64_work=(--output-junit "$reports/aarch64.xml"); fi
  bash "$root_dir/scripts/test_aarch64.sh" "${aarch64_work[@]}" 2>&1 | tee "$reports/aarch64.log" >&2 || aarch64_status=$?
  if ((aarch64_status == 77)); then
    aarch64_state=skipped
    [[ ${LABELSCOPE_CI:-} != 1 ]] || aarch64_state=failed
  elif ((aarch64_status != 0)); then
    status=1
    [[ -s $reports/aarch64.xml ]] || aarch64_state=failed
  fi
fi

# The machines to boot: architecture, kernel and, where it is not the usual one, processor.
list_guests() {
  local kernel
  # isolated: one of the two processors has nothing to do but a test's own program.
  printf '%s\n' aarch64-6.1 x86_64-5.10 aarch64-6.1-isolated
  [[ $guests == all ]] || return 0
  printf '%s\n' aarch64-6.1-max aarch64-5.10 x86_64-6.1
  for kernel in 6.12 7; do printf '%s\n' {aarch64,x86_64}-"$kernel"; done
}
guest_names=()
if [[ $guests != none ]]; then
  # Not from an older build, where there is none of today: that has been told above.
  mapfile -t guest_names < <(if [[ -z $aarch64_state ]]; then list_guests; else list_guests | grep -v '^aarch64'; fi)
  say "Running the tests in virtual machines: ${guest_names[*]}"
  bash "$root_dir/tests/vm/run.sh" "${guest_names[@]}" >"$reports/guests.txt" || true
  sed 's/^/  /' "$reports/guests.txt" >&2
fi

# One line a test, from ctest's report: "passed", "failed" or "skipped", tab, name, tab, reason. A test counts as
# skipped only if it said so itself (exit code 77); one that could not be started has failed.
read_report() {
  awk '
    function unescaped(text) {
      gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text)
      gsub(/&apos;/, "\047", text); gsub(/&amp;/, "\\&", text)
      return text
    }
    function attribute(line, name,    start) {
      start = index(line, " " name "=\"")
      if (start == 0) return ""
      line = substr(line, start + length(name) + 3)
      return unescaped(substr(line, 1, index(line, "\"") - 1))
    }
    /<testcase / { name = attribute($0, "name"); state = attribute($0, "status"); own = 0; reason = "" }
    /<skipped message="SKIP_/ { own = 1 }
    match($0, /SKIPPED: /) && reason == "" {
      reason = substr($0, RSTART + RLENGTH)
      sub(/<\/system-out>.*/, "", reason)
      reason = unescaped(reason)
    }
    /<\/testcase>/ {
      if (state == "run") print "passed\t" name "\t"
      else if (state == "notrun" && own) print "skipped\t" name "\t" (reason == "" ? "no reason given" : reason)
      else if (state != "disabled") print "failed\t" name "\t"
    }' "$@"
}

results=$reports/results.txt
read_report "$reports"/{parallel,matrix,live}.xml >"$results"
if [[ -s $reports/aarch64.xml ]]; then
  read_report "$reports/aarch64.xml" | awk -F '\t' -v OFS='\t' '{ $2 = "aarch64: " $2; print }' >>"$results"
fi
if [[ -n $aarch64_state ]]; then
  printf '%s\taarch64: the build and its tests\t%s\n' "$aarch64_state" \
    "$(sed -n '$s/^skipped: //p' "$reports/aarch64.log")" >>"$results"
fi
if ((${#guest_names[@]} > 0)); then
  bash "$root_dir/tests/vm/results.sh" "${guest_names[@]}" >>"$results"
  table="vm/table: docs/kernels.md says what the guests show"
  table_status=0
  python3 "$root_dir/tests/vm/kernel_table.py" --check "${guest_names[@]}" >&2 || table_status=$?
  if ((table_status == 0)); then
    printf 'passed\t%s\t\n' "$table" >>"$results"
  elif ((table_status == 77)) && [[ ${LABELSCOPE_CI:-} != 1 ]]; then
    printf 'skipped\t%s\tno guest has left a report\n' "$table" >>"$results"
  else
    printf 'failed\t%s\t\n' "$table" >>"$results"
  fi
fi
count() { awk -F '\t' -v kind="$1" '$1 == kind { n++ } END { print n + 0 }' "$results"; }
passed=$(count passed) failed=$(count failed) skipped=$(count skipped)

if ((skipped > 0)); then
  say "Skipped:"
  awk -F '\t' '$1 == "skipped" { printf "  %s: %s\n", $2, $3 }' "$results" >&2
fi
if ((failed > 0)); then
  say "Failed:"
  awk -F '\t' '$1 == "failed" { printf "  %s\n", $2 }' "$results" >&2
elif ((status != 0)); then
  # ctest failed and no test did: a crash of ctest or a wrong argument is a failure all the same.
  warn "ctest failed although no test did; its message is above"
  failed=1
elif ((passed + skipped == 0)); then
  warn "no test matches"
  failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
