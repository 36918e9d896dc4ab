# Without -o the profile and its page are named after the target and the time, and two recordings
# never share a name.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
run record -d 1 -p "$target"
expect_status "$exit_ok" "no -o"
shopt -s nullglob
files=(labelscope-bash-"$target"-[0-9]*Z.pb.gz)
((${#files[@]} == 1)) || fail "no file labelscope-bash-$target-<UTC>.pb.gz, but: $(ls -A .)"
expect_pprof "${files[0]}"
expect_said "${files[0]}"
run record -d 1 -p "$target"
expect_status "$exit_ok" "the second recording"
files=(labelscope-bash-"$target"-*.pb.gz)
((${#files[@]} == 2)) || fail "two recordings left ${#files[@]} files"
pages=(labelscope-bash-"$target"-*.html)
((${#pages[@]} == 2)) || fail "not one page beside each profile: $(ls -A .)"
for page in "${pages[@]}"; do
  [[ -e ${page%.html}.pb.gz ]] || fail "$page has another name than its profile"
  grep -q 'id="profile">[A-Za-z0-9+/]' "$page" || fail "$page has no profile in it"
done
# If the user names a format, only that one is written.
run record -d 1 -p "$target" -f folded
expect_status "$exit_ok" "-f folded"
folded=(labelscope-bash-"$target"-*.folded)
((${#folded[@]} == 1)) || fail "no folded file: $(ls -A .)"
