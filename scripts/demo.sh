#!/usr/bin/env bash
# This shows what labelscope does, on a service whose truth is known: it installs what is missing,
# builds what scripts/install.sh or scripts/test.sh has not built yet, starts the demo service, records
# it, and prints where its time went, by label, next to the service's own numbers. It ends with the place
# of the page for a browser. Without root and sudo it records by ptrace.
#
#   scripts/demo.sh [--duration SECONDS]
#
# The table goes to stdout, everything else to stderr. Files go to build/recordings/<UTC>.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

seconds=10
while (($# > 0)); do
  case $1 in
    --duration) seconds=${2:-} && shift ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'demo.sh: unknown option: %s\n' "$1" >&2; exit 2 ;;
  esac
  shift || break  # --duration without a value
done
[[ $seconds =~ ^[1-9][0-9]{0,3}$ ]] || { printf 'demo.sh: --duration is a number of seconds\n' >&2; exit 2; }
# The first question for a password comes now, and not behind the build.
as=(as_root)
can_be_root || as=()

bash "$root_dir/scripts/setup.sh"

build=$(latest_build)
readonly build
# A folder with a build configures itself again if it has to. A new one leaves out the tests.
[[ -f $build/build.ninja ]] || configure "$build" --preset "${build##*/}" -DBUILD_TESTING=OFF ||
  die "configuring failed; its output is above"
say "Building labelscope and the demo service in ${build#"$root_dir"/}, as far as they are not built yet"
cmake --build "$build" --parallel "$(build_jobs)" --target demo >&2 || die "the build failed; its output is above"
labelscope='' service=''
# shellcheck source=/dev/null
source "$build/demo_programs.sh"

recordings=$root_dir/build/recordings/$(date -u +%Y%m%dT%H%M%SZ)-$$
mkdir -p "$recordings"
work=$(mktemp -d)
service_pid=''

# Whatever ends this script also ends the service and removes temporary files.
end_demo() {
  [[ -z $service_pid ]] || kill -TERM "$service_pid" 2>/dev/null || true
  rm -rf "$work"
  rmdir "$recordings" 2>/dev/null || true
}
trap end_demo EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say "Starting the demo service: three tenants, two routes"
: >"$work/truth"
# The service ends by itself if this script is killed by SIGKILL.
"$service" --seconds $((seconds + 120)) >"$work/truth" &
service_pid=$!
for ((attempt = 0; attempt < 500; attempt++)); do
  grep -q '^ready' "$work/truth" && break
  kill -0 "$service_pid" 2>/dev/null || die "the demo service ended before it was ready"
  sleep 0.02
done
grep -q '^ready' "$work/truth" || die "the demo service was not ready after ten seconds"

((${#as[@]})) || warn "this is not root, and there is no sudo that makes it root: labelscope samples by ptrace, not by BPF"
say "Recording process $service_pid for $seconds seconds: labelscope record -p $service_pid -d ${seconds}s" \
  "--summary tenant,http.route"
status=0
${as[@]+"${as[@]}"} "$labelscope" record -p "$service_pid" -d "${seconds}s" --summary tenant,http.route \
  -o "$recordings/demo.pb.gz" -o "$recordings/demo.folded" -o "$recordings/demo.html" >"$work/summary" || status=$?
if ((${#as[@]})); then give_back "$recordings"; fi
((status == 0)) || { warn "labelscope record ended with status $status; its message is above"; exit "$status"; }
cat "$work/summary"

kill -TERM "$service_pid"
service_status=0
wait "$service_pid" || service_status=$?
service_pid=''
((service_status == 0)) || die "the demo service ended with status $service_status"

# The service's last line is {"cpu_ns": N, ..., "labels": {"tenant": {"acme": N, ...}, "http.route":
# {...}}}. Its shares are compared with those of the tables above, whose rows are: value, share, ±,
# time, samples, bar.
compare() {
  awk -v key_list='tenant,http.route' '
    function between(text, from, to,    start) {
      start = index(text, from)
      if (start == 0) return ""
      text = substr(text, start + length(from))
      return substr(text, 1, index(text, to) - 1)
    }
    NR == FNR { if (/^{/) truth = $0; next }
    / share / { title = $1; next }
    NF { share[title, $1] = $2 + 0 }
    END {
      cpu = between(truth, "\"cpu_ns\": ", ",")
      if (cpu + 0 == 0) { print "the service reported no CPU time" > "/dev/stderr"; exit 1 }
      printf "\n%-12s %-12s %12s %12s\n", "", "", "labelscope", "the service"
      keys = split(key_list, key, ",")
      for (k = 1; k <= keys; k++) {
        values = split(between(truth, "\"" key[k] "\": {", "}"), pairs, ", ")
        for (v = 1; v <= values; v++) {
          split(pairs[v], pair, ": ")
          value = pair[1]
          gsub(/"/, "", value)
          own = 100 * pair[2] / cpu
          seen = share[key[k], value]
          printf "%-12s %-12s %10.1f %% %10.1f %%\n", key[k], value, seen, own
          compared++
          if (seen - own > 5 || own - seen > 5) wrong++
        }
      }
      exit wrong || !compared
    }' "$work/truth" "$work/summary"
}
compare || die "the profile is more than 5 points away from what the service says about itself"

echo "(A ± says how far chance may have moved a share: in two of three recordings it is not farther from the truth.)" >&2
shown=${recordings#"$PWD"/}
{
  printf '\nWritten:\n  %s   pprof\n  %s   one line for each stack\n' "$shown/demo.pb.gz" "$shown/demo.folded"
  printf '\nLook at it:\n'
  printf '  go tool pprof -top -cum -tagroot=tenant %s\n' "$shown/demo.pb.gz"
  printf '  go tool pprof -tags %s\n' "$shown/demo.pb.gz"
  command -v go >/dev/null || printf '(go comes with the package golang-go.)\n'
  printf '\nThe picture is a page, one file that needs no network. If this is a remote shell, copy it first:\n'
  printf '  scp %s@%s:%q .\n' "$(id -un)" "$(uname -n)" "$recordings/demo.html"
  printf '\nOpen it in a browser:\n  %s\n' "$recordings/demo.html"
} >&2
