# The page has the same time by label as the pprof file of the same recording, read by node and by
# go tool pprof.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command go
need_command jq
need_command node
"$DEMO_SERVICE" --seconds 300 >"$work/service" &
target=$!
children+=("$target")
is_ready() { grep -q '^ready' "$work/service"; }
wait_until "the demo service is ready" is_ready
run record -p "$target" -d 3s -o demo.html -o demo.pb.gz -o demo.jsonl --group-by tenant
expect_status "$exit_ok" "a page and a profile"
expect_said 'open demo.html'
node "$SOURCE_DIR/../page/read_page.mjs" demo.html >"$work/page" || fail "the page cannot be read"
jq -e '.allowed and .same_script and .facts.group_by == ["tenant"]' "$work/page" >/dev/null ||
  fail "policy, script or groups of the page are wrong"
pprof -sample_index=cpu -unit=ns -tags demo.pb.gz >"$work/tags" || fail "go tool pprof -tags failed"
for key in tenant http.route thread_id; do
  in_page=$(jq -r --arg key "$key" 'if $key == "thread_id" then .samples | map({value: (.tid | tostring), weight})
    else .samples | map({value: .labels[$key], weight}) end
    | map(select(.value != null)) | group_by(.value)[] | "\(map(.weight) | add)ns \(.[0].value)"' "$work/page" | sort)
  in_pprof=$(awk -v key="$key:" '$2 == "Total" { title = $1 } title == key && $2 != "Total" && NF { sub("\\.0ns", "ns", $1); sub("ns$", "", $NF); print $1, $NF }' "$work/tags" | sort)
  [[ -n $in_page && $in_page == "$in_pprof" ]] ||
    fail "$key: the page has"$'\n'"$in_page"$'\n'"and pprof"$'\n'"$in_pprof"
done
# What the page would save as a table is the table that -o writes.
run report demo.jsonl -o all.html -o all.csv
expect_status "$exit_ok" "a page and a table"
node "$SOURCE_DIR/../page/page_csv.mjs" all.html | LC_ALL=C sort >"$work/page.csv"
LC_ALL=C sort all.csv | cmp - "$work/page.csv" || fail "the page's table is another one than that of -o"
exit 0
