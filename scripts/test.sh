#!/usr/bin/env bash
# This builds labelscope and runs its tests, packages included. The last line is "N passed, N
# failed, N skipped"; the exit status is 0 only if nothing failed. Above it are the reasons of
# skipped tests, the failures, and a table of times.
#
#   scripts/test.sh [--preset dev|asan|tsan|tidy] [--thorough] [--no-sudo] [--aarch64]
#                   [--no-guests|--guests|--all-kernels] [ctest argument...]
#   scripts/test.sh -R symbolizer           tests whose name matches
#   scripts/test.sh -L unit                 one tier (tests/README.md)
#   scripts/test.sh --thorough              repeats tests that depend on chance more often
#   scripts/test.sh --no-guests             without virtual machines
#   scripts/test.sh --all-kernels           in virtual machines with every kernel that is supported
#   scripts/test.sh --aarch64               also for that processor: the unit tests in an emulator, and packages
#
# A test that fails runs once more by itself at the end. If it passes then, it counts as passed and
# is listed as unsteady, with what it printed both times; more than three of these are a failure.
#
# Virtual machines (tests/vm) are aarch64 with Linux 6.1, twice, and x86-64 with 5.10; they are
# built and run beside the tests that do not watch live processes. They are left out if ctest has
# arguments, unless --guests asks for them, and for other presets than dev. With LABELSCOPE_CI=1 it
# is a failure if one of them is not available.
#
# Tests that sample with BPF need root: without it they run through sudo, and are skipped if there is
# none or with --no-sudo. The preset tidy runs clang-tidy over every source file and no test.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

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
    --thorough) export LABELSCOPE_THOROUGH=1 ;;
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

# A build that fails counts as one failure, so that the last line does not look like success.
build_failed() {
  printf 'error: %s\n' "$1" >&2
  echo "0 passed, 1 failed, 0 skipped"
  exit 1
}

readonly build=$root_dir/build/$preset
readonly reports=$build/reports

# sudo asks for its password now, and not behind the build, when nobody may be there to type it.
if ((EUID == 0)) || [[ $preset == tidy ]] || ! can_be_root; then use_sudo=0; fi

as_root_if_allowed() {
  if ((use_sudo)); then
    sudo -- env PATH="$PATH" ${TMPDIR:+TMPDIR="$TMPDIR"} ${LABELSCOPE_THOROUGH:+LABELSCOPE_THOROUGH=1} "$@"
  else
    "$@"
  fi
}

rm -rf "$reports" 2>/dev/null || as_root_if_allowed rm -rf "$reports"
mkdir -p "$reports"

# timed <part of the run> <command>... runs the command and returns its status; times.tsv has its
# seconds.
timed() {
  local part=$1 begun=$SECONDS result=0
  shift
  "$@" || result=$?
  printf '%s\t%s\n' "$((SECONDS - begun))" "$part" >>"$reports/times.tsv"
  return "$result"
}

timed "packages" bash "$root_dir/scripts/setup.sh" --tests
configure "$build" --preset "$preset" -DBUILD_TESTING=ON || build_failed "configuring failed"
say "Building with $(build_jobs) jobs"
timed "build" cmake --build "$build" --parallel "$(build_jobs)" >&2 || build_failed "the build failed"
if [[ $preset == tidy ]]; then
  say "clang-tidy has nothing to say"
  echo "1 passed, 0 failed, 0 skipped"
  exit 0
fi

if ((EUID != 0)); then
  if ((use_sudo)); then
    say "Running the tests through sudo: those that sample with BPF need it"
  else
    say "Running the tests without root: those that need it are skipped"
  fi
fi

# Tests that watch live processes need processors: no more of them run at a time than there are
# processors, and those that measure have the machine to themselves (RUN_SERIAL). The resolver
# matrix mostly waits for samples of programs that wait themselves: in 1,344 cases two processors
# are busy for a third of the time when two run at once.
readonly live='^(process|kernel|cli|consumer|bench)$'
readonly matrix='^matrix$'
processors=$(nproc)
readonly processors

# ctest_here <name> <argument...> leaves reports/<name>.xml and returns ctest's status.
ctest_here() {
  local name=$1
  shift
  as_root_if_allowed ctest --test-dir "$build" --output-on-failure --no-tests=ignore --timeout 300 \
    --output-junit "$reports/$name.xml" "$@" >&2
}
# If ctest fails although no test did, or leaves no report, it has crashed or had a wrong argument.
run_tests() {
  timed "tests: $1" ctest_here "$@" ${ctest_arguments[@]+"${ctest_arguments[@]}"} && [[ -s $reports/$1.xml ]] && return
  grep -q 'status="fail"\|<failure' "$reports/$1.xml" 2>/dev/null ||
    printf 'failed\tctest: %s\tits message is above\n' "$1" >>"$reports/crashed.txt"
}

# These are the machines to boot: architecture, kernel and, if it is not the usual one, processor, or
# rt for a kernel with PREEMPT_RT.
list_guests() {
  local kernel
  # isolated: one of the two processors runs only a test's own program.
  printf '%s\n' aarch64-6.1 x86_64-5.10 aarch64-6.1-isolated
  [[ $guests == all ]] || return 0
  printf '%s\n' aarch64-6.1-max aarch64-5.10 x86_64-6.1
  for kernel in 6.12 7; do printf '%s\n' {aarch64,x86_64}-"$kernel"; done
  printf '%s\n' x86_64-7-rt
}

# Another processor has a build of its own, whose tests are other tests, and the virtual machines.
# If something is not available, the state is "failed" or "skipped", and the last line of the log
# has the reason.
build_for_aarch64() {
  local status=0 work=(--for-guests)
  if ((aarch64)); then work=(--output-junit "$reports/aarch64.xml"); fi
  nice -n 10 bash "$root_dir/scripts/test_aarch64.sh" "${work[@]}" >"$reports/aarch64.log" 2>&1 || status=$?
  if ((status == 77)) && [[ ${LABELSCOPE_CI:-} != 1 ]]; then
    echo skipped >"$reports/aarch64.state"
  elif ((status != 0)) && ! grep -q '<failure' "$reports/aarch64.xml" 2>/dev/null; then
    echo failed >"$reports/aarch64.state"
  fi
}
run_elsewhere() {
  local names=()
  if [[ $(uname -m) == x86_64 ]]; then timed "for aarch64, beside the tests" build_for_aarch64; fi
  [[ $guests != none ]] || return 0
  # If today's build has failed, an older one must not be tested: the failure of the build is
  # reported.
  mapfile -t names < <(if [[ ! -e $reports/aarch64.state ]]; then list_guests; else list_guests | grep -v '^aarch64'; fi)
  printf '%s\n' "${names[@]}" >"$reports/guests"
  timed "virtual machines, beside the tests" bash "$root_dir/tests/vm/run.sh" "${names[@]}" >"$reports/guests.txt" || true
  timed "virtual machines, what failed once more" bash "$root_dir/tests/vm/again.sh" "${names[@]}"
}

# ctest asks each new test program for its cases; two runs that do so at once would write the same
# files.
ctest --test-dir "$build" --show-only >/dev/null || build_failed "ctest cannot list the tests"
elsewhere=''
if [[ $preset == dev ]] && { ((aarch64)) || [[ $guests != none ]]; }; then
  say "Running virtual machines beside the tests; their words come at the end"
  set -m  # a group of processes, which ends with this script
  run_elsewhere >"$reports/elsewhere.log" 2>&1 &
  elsewhere=$!
  set +m
  trap 'kill -- -"$elsewhere" 2>/dev/null' EXIT
fi

say "Running the tests that can share the machine"
run_tests parallel --parallel "$processors" --label-exclude "$live"
say "Running the resolver matrix"
run_tests matrix --parallel $((processors + 4)) --label-regex "$matrix"
if [[ -n $elsewhere ]]; then
  say "Waiting for the virtual machines"
  timed "waiting for virtual machines" wait "$elsewhere" || true
  elsewhere=''
  trap - EXIT
fi
say "Running the tests that watch live processes"
run_tests live --parallel "$processors" --label-regex "$live" --label-exclude "$matrix"

# Runs what failed once more, by itself.
readonly most_again=20 most_unsteady=3
report() { python3 "$root_dir/scripts/test_report.py" "$@"; }
failed_tests=$(report failed "$reports") || build_failed "the reports of ctest cannot be read"
if [[ -n $failed_tests ]] && (($(wc -l <<<"$failed_tests") > most_again)); then
  warn "more than $most_again tests failed, which is no accident: none of them runs again"
elif [[ -n $failed_tests ]]; then
  say "Running once more what failed"
  timed "tests: what failed, once more" ctest_here again --tests-regex "$(report pattern "$reports")" || true
fi
if ((use_sudo)); then give_back "$build"; fi

results=$reports/results.txt
report results "$reports" >"$results"
if [[ -e $reports/crashed.txt ]]; then cat "$reports/crashed.txt" >>"$results"; fi
if [[ -e $reports/aarch64.state ]]; then
  tail -n 40 "$reports/aarch64.log" >&2
  printf '%s\taarch64: the build and its tests\t%s\n' "$(<"$reports/aarch64.state")" \
    "$(sed -n '$s/^skipped: //p' "$reports/aarch64.log")" >>"$results"
fi
guest_names=()
if [[ -s $reports/guests ]]; then
  mapfile -t guest_names <"$reports/guests"
  cat "$reports/elsewhere.log" "$reports/guests.txt" >&2
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
elif [[ $guests != none ]] || { ((aarch64)) && [[ ! -s $reports/aarch64.xml ]]; }; then
  tail -n 40 "$reports/elsewhere.log" >&2
  printf 'failed\tvm: what runs beside the tests\tit did not come to its end; the end of its log is above\n' >>"$results"
fi

count() { awk -F '\t' -v kind="$1" '$1 == kind { n++ } END { print n + 0 }' "$results"; }
names_of() { awk -F '\t' -v kind="$1" '$1 == kind { print $2 }' "$results"; }
passed=$(count passed) failed=$(count failed) skipped=$(count skipped) unsteady=$(count unsteady)

if ((skipped > 0)); then
  say "Skipped:"
  awk -F '\t' '$1 == "skipped" { printf "  %s: %s\n", $2, $3 }' "$results" >&2
fi
if ((unsteady > 0)); then
  say "Unsteady, because they failed and then passed; what they printed:"
  mapfile -t names < <(names_of unsteady)
  report outputs "$reports" "${names[@]}" >&2
  for guest in ${guest_names[@]+"${guest_names[@]}"}; do
    [[ ! -e $root_dir/build/vm/reports/$guest.unsteady ]] || cat "$root_dir/build/vm/reports/$guest.unsteady" >&2
  done
  say "Unsteady:"
  names_of unsteady | sed 's/^/  /' >&2
fi
if ((failed > 0)); then
  say "Failed:"
  names_of failed | sed 's/^/  /' >&2
elif ((unsteady > most_unsteady)); then
  warn "$unsteady tests are unsteady, and more than $most_unsteady are a failure"
  failed=1
elif ((passed + skipped + unsteady == 0)); then
  warn "no test matches"
  failed=1
fi

{
  printf '\n%8s  %s\n' seconds "part of the run"
  awk -F '\t' '{ printf "%8d  %s\n", $1, $2 }' "$reports/times.tsv"
  printf '%8d  %s\n\n' "$SECONDS" "in all"
  printf '%8s  %s\n' seconds "the slowest tests"
  report slowest "$reports"
} >&2
echo "$((passed + unsteady)) passed, $failed failed, $skipped skipped"
((failed == 0))
