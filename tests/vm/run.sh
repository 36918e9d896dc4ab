#!/usr/bin/env bash
# Runs tests in virtual machines: one for each named guest, as many at a time as processors and
# memory allow.
#
#  tests/vm/run.sh [--thorough] [--build FOLDER] [--packages FOLDER] [--tests PATTERN] GUEST...
#
# A guest is architecture-kernel or architecture-kernel-processor: x86_64-5.10, aarch64-6.1,
# aarch64-6.12-max. Kernels are Debian's; processors are QEMU's (max: with pointer authentication
# and branch targets). With "isolated" in place of a processor, the kernel leaves one processor to
# itself, and the tests are those that need that. With "rt", the kernel is one with PREEMPT_RT, and
# the tests are those of waits.
#  --thorough all tests that can run in a guest, the whole resolver matrix too, instead of those of
#             quick.txt
#  --tests    only tests whose name matches (an extended regular expression)
#  --list     a file with the tests in place of ctest's, as run_list.py writes it
#  --build    the build tree of a native guest instead of build/dev (aarch64: build/aarch64)
#  --packages what scripts/package.sh has made, to be installed there, instead of packages of those
#             builds
#
# It writes build/vm/reports/GUEST.tsv (read_report.awk describes it) and GUEST.log, which is what
# the guest printed. On stdout there is a line for each guest, and on stderr the output of failed
# tests. Status 1 means that something failed. The report of a guest that cannot be started says
# "skipped".
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

readonly reports=$vm_build/reports
quick=(--quick "$vm_dir/quick.txt")
native_build=$root_dir/build/dev
pattern=''
list=''
ready_packages=''
guests=()
while (($# > 0)); do
  case $1 in
    --thorough) quick=() ;;
    --build) native_build=$(realpath "$2") && shift ;;
    --packages) ready_packages=$(realpath "$2") && shift ;;
    --tests) pattern=$2 && shift ;;
    --list) list=$2 && shift ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) printf 'run.sh: unknown option: %s\n' "$1" >&2; exit 2 ;;
    *) guests+=("$1") ;;
  esac
  shift
done
((${#guests[@]} > 0)) || die "name at least one guest, such as x86_64-5.10"

build_of() {
  if [[ $1 == "$(uname -m)" ]]; then echo "$native_build"; else echo "$root_dir/build/$1"; fi
}

if [[ -n $ready_packages && ( -n $list || ! $'vm/packages\t' =~ $pattern ) ]]; then
  die "--packages is for the test vm/packages, which is not among those chosen"
fi

# A guest that hangs is ended. The quick list takes minutes, and all tests take many times as long.
boot_limit_s=${LABELSCOPE_GUEST_SECONDS:-$((${#quick[@]} > 0 ? 1500 : 7200))}
readonly boot_limit_s
readonly guest_memory_mb=2048

# add_packages <arch> <build> <folder>: adds packages of that build, or those that are ready, and a
# test that uses them.
add_packages() {
  local program=$2/tests/targets/self_check_customlabels_static \
    packages=${ready_packages:-$3/packages}
  if [[ -z $ready_packages ]]; then
    rm -rf "$packages"  # of earlier commits
    bash "$root_dir/scripts/package.sh" --arch "$1" --build "$2" --output "$packages" >/dev/null ||
      die "there are no packages of $2"
  fi
  { find "$packages" -type f \( -name "*_$(debian_arch "$1").deb" -o -name "*-$1.tar.gz" \); echo "$program"; } >>"$3/list/files"
  printf 'vm/packages\t120\tcd /\tbash /vm/packages.sh %q %q %q\n' "$packages" \
    "$(debian_arch "$1")" "$program" \
    >>"$3/list/tests"
}

# prepare_image <arch>: makes the image of all guests of that architecture, with this run's list of
# tests.
prepare_image() {
  local arch=$1 folder=$vm_build/$1 build tool
  build=$(build_of "$arch")
  [[ -f $build/CTestTestfile.cmake ]] || skip "there is no build of labelscope for $arch in $build"
  for tool in "qemu-system-$arch" cpio busybox dpkg-deb; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
  done
  mkdir -p "$folder/list"
  if [[ -n $list ]]; then
    cp "$list" "$folder/list/tests"
    : >"$folder/list/files"
    bash "$vm_dir/image.sh" "$arch" "$build" "$folder/list/tests" "$folder/list/files" \
      "$folder/image.cpio"
    return
  fi
  ctest --test-dir "$build" --show-only=json-v1 >"$folder/ctest.json" ||
    die "ctest cannot list the tests of $build"
  python3 "$vm_dir/run_list.py" --arch "$arch" --build "$build" --source "$root_dir" \
    --left-out "$vm_dir/left_out.txt" \
    "${quick[@]}" --out "$folder/list" <"$folder/ctest.json"
  [[ ! $'vm/packages\t' =~ $pattern ]] || add_packages "$arch" "$build" "$folder"
  if [[ -n $pattern ]]; then
    grep -E -- "$pattern" "$folder/list/tests" >"$folder/list/some" ||
      die "no test matches $pattern"
    mv "$folder/list/some" "$folder/list/tests"
  fi
  bash "$vm_dir/image.sh" "$arch" "$build" "$folder/list/tests" "$folder/list/files" \
    "$folder/image.cpio"
}

# chosen_by <processor>: prints the pattern that chooses a guest's tests; nothing if it runs all but
# those that need an isolated processor.
chosen_by() {
  case $1 in
    isolated) echo isolated_processor ;;
    rt) echo '^cli/(blame|off_cpu|wall)|^kernel/test_(program_costs|sampler_waiting)' ;;
  esac
}

# boot <arch> <processor> <kernel> <log>: boots a guest, and waits for its end. QEMU's exit status
# says nothing: after a panic it is 0 as well.
boot() {
  local arch=$1 processor=$2 kernel=$3 log=$4 machine console append='' threads=multi
  local chosen
  chosen=$(chosen_by "$processor")
  [[ -z $chosen ]] || append=labelscope_tests=$chosen
  [[ $processor != isolated ]] || { processor='' append+=" isolcpus=1 nohz_full=1"; }
  # When this kernel rewrites its own code, QEMU 7.2 runs into the breakpoints that stand there
  # meanwhile, unless one thread emulates both processors.
  [[ $processor != rt ]] || { processor='' threads=single; }
  case $arch in
    x86_64) machine=q35 console=ttyS0 processor=${processor:-max} ;;
    aarch64)
      machine=virt console=ttyAMA0 processor=${processor:-neoverse-n1}
      # This is QEMU's own cipher for pointer authentication: the architected one takes ten times as
      # long.
      [[ $processor != max ]] || processor=max,pauth-impdef=on
      ;;
  esac
  # QEMU runs in the background, so that a signal to this script ends it at once.
  timeout --kill-after=10 "$boot_limit_s" "qemu-system-$arch" -M "$machine" \
    -accel "tcg,thread=$threads" -cpu "$processor" \
    -smp 2 -m "$guest_memory_mb" -nographic -no-reboot -nic none -kernel "$kernel" \
    -initrd "$vm_build/$arch/image.cpio" \
    -append "console=$console panic=-1 loglevel=1 $append" </dev/null >"$log" 2>"$log.qemu" &
  # shellcheck disable=SC2064  # this process, now
  trap "kill $! 2>/dev/null; exit 1" INT TERM HUP
  wait $!
}

# count_tests <arch> <processor>: prints the number of tests that such a guest must run.
# guest/run_tests.sh chooses in the same way.
count_tests() {
  local chosen
  chosen=$(chosen_by "$2")
  if [[ -n $chosen ]]; then
    grep --count -E -- "$chosen" "$vm_build/$1/list/tests" || true
  else
    grep --count --invert-match isolated_processor "$vm_build/$1/list/tests" || true
  fi
}

# run_guest <guest>: makes its report, and prints a line on stdout.
run_guest() {
  local guest=$1 arch version processor kind=cloud kernel begun log=$reports/$1.log report=$reports/$1.tsv
  IFS=- read -r arch version processor <<<"$guest"
  if [[ -n ${no_image[$arch]:-} ]]; then
    printf '%s\n' "${no_image[$arch]}" >"$report"
    return
  fi
  [[ $processor != rt ]] || kind=rt
  kernel=$(bash "$vm_dir/kernel.sh" "$arch" "$version" "$kind" 2>"$log") || {
    (($? == 77)) || die "no kernel for $guest: $(tail -n 3 "$log")"
    printf 'skipped\tguest\t0\t%s\n' "$(reason_in "$log")" >"$report"
    return
  }
  begun=$SECONDS
  boot "$arch" "$processor" "$kernel" "$log" ||
    warn "qemu of $guest ended with status $?: $(tail -n 1 "$log.qemu")"
  awk -v wanted="$(count_tests "$arch" "$processor")" -f "$vm_dir/read_report.awk" "$log" >"$report"
  printf 'fact\twall_s\t%s\n' $((SECONDS - begun)) >>"$report"
  # User and system time of this shell's children are what the guest would cost on an idle machine.
  times >"$log.times"
  awk 'NR == 2 { gsub(/m/, " "); gsub(/s/, ""); printf "fact\tcpu_s\t%d\n", $1 * 60 + $2 + $3 * 60 + $4 }' "$log.times" >>"$report"
}

# show_failures <guest>: prints the output of failed tests.
show_failures() {
  touch "$reports/$1.log"
  awk -F '\t' '$1 == "failed" { print $2 "\t" $4 }' "$reports/$1.tsv" |
    while IFS=$'\t' read -r name reason; do
      printf -- '--- %s: %s: %s\n' "$1" "$name" "$reason"
      tr -d '\r' <"$reports/$1.log" | awk -v name="$name" '
        $2 == "start" { begun = $0; sub(/^@[0-9]+ start /, "", begun); if (begun == name) number = $1 }
        number != "" && $1 == number && $2 == "|" { sub(/^@[0-9]+ \| ?/, "  "); print }'
      [[ $name != guest ]] || tail -n 20 "$reports/$1.log" | tr -d '\r' | sed 's/^/  /'
    done >&2
  grep -a '^@kernel' "$reports/$1.log" 2>/dev/null | tr -d '\r' >&2 || true
}

tell() {
  awk -F '\t' -v guest="$1" '
    $1 == "fact" { fact[$2] = $3; next }
    { count[$1]++ }
    END {
      if (!("wall_s" in fact)) { printf "%s: not run\n", guest; exit }
      printf "%s: %d passed, %d failed, %d skipped in %d s, %d s of processor time (Linux %s, up after %.1f s)\n", guest,
        count["passed"], count["failed"], count["skipped"], fact["wall_s"], fact["cpu_s"], fact["kernel"], fact["boot_ms"] / 1000
    }' "$reports/$1.tsv"
}

mkdir -p "$reports"
# Only one run at a time may use lists and images.
exec {lock}>"$vm_build/lock"
flock --nonblock "$lock" || { say "Waiting for another run in $vm_build"; flock "$lock"; }
# From here on no report of another run can pass for one of this.
for guest in "${guests[@]}"; do rm -f "$reports/$guest".{tsv,log,unsteady}; done
# Ends by the signal, so that the caller of this script ends, too.
# shellcheck disable=SC2317  # the traps call it
end_by() {
  # Preparations are groups of processes, and guests are not.
  jobs -p | sed 's/.*/-& &/' | xargs -r kill -- 2>/dev/null || true
  trap - "$1"
  kill -s "$1" $$
}
for signal in INT TERM HUP; do
  # shellcheck disable=SC2064  # this signal, now
  trap "end_by $signal" "$signal"
done

# The reasons why architectures have no image and so no guest: "failed" or "skipped", tab, the
# reason.
declare -A no_image=() preparing=()
# Each is a process of its own, since within a condition this shell would continue after errors.
for arch in $(printf '%s\n' "${guests[@]%%-*}" | sort -u); do
  set -m  # a group, so that it can be ended with its children
  (prepare_image "$arch") >"$vm_build/$arch-image.log" 2>&1 &
  set +m
  preparing[$arch]=$!
done
for arch in "${!preparing[@]}"; do
  log=$vm_build/$arch-image.log
  status=0
  wait "${preparing[$arch]}" || status=$?
  cat "$log" >&2
  case $status in
    0) ;;
    77) no_image[$arch]=skipped$'\t'guest$'\t'0$'\t'$(reason_in "$log") ;;
    *) no_image[$arch]=failed$'\t'guest$'\t'0$'\t'"there is no image for its architecture: $(tail -n 1 "$log")" ;;
  esac
done
# Tests run one after the other, so a guest keeps one processor busy.
at_once=$(as_many_as_fit "$guest_memory_mb")
running=0
for guest in "${guests[@]}"; do
  # A guest that failed leaves no report, which is noticed below.
  ((running < at_once)) || { wait -n || true; running=$((running - 1)); }
  say "Booting $guest"
  run_guest "$guest" &
  running=$((running + 1))
done
wait
status=0
for guest in "${guests[@]}"; do
  [[ -s $reports/$guest.tsv ]] ||
    printf 'failed\tguest\t0\tit left no report\n' >"$reports/$guest.tsv"
  show_failures "$guest"
  tell "$guest"
  ! grep -q '^failed' "$reports/$guest.tsv" || status=1
done
exit "$status"
