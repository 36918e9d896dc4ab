# A path that cannot be written is noticed before sampling: the status is 1 at once, and nothing is
# left of the other outputs.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
mkdir "$work/folder.folded"
for path in "$work/no/such/folder/x.folded" /dev/null/x.folded "$work/folder.folded"; do
  # The recording would take an hour: if the path were tried only at the end, this would not end in
  # time (status 137).
  run record -d 3600 -p "$target" -o good.pb.gz -o "$path"
  expect_status "$exit_error" "-o $path"
  expect_said "$path"
  expect_no_stdout
  expect_no_files
done
# /sys takes no files, not even from root. The message names the folder, and what helps.
if [[ -d /sys/kernel ]]; then
  run record -d 3600 -p "$target" -o /sys/kernel/x.folded
  expect_status "$exit_error" "-o /sys/kernel/x.folded"
  expect_said \
    'cannot write /sys/kernel/x.folded: .* in the folder /sys/kernel; name a file elsewhere with -o$'
fi
