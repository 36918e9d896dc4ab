# tests/bench/trend.py: what it keeps is what it finds again, changes are ratios, and nothing that is
# missing on one side is left out.
set -euo pipefail
folder=$1 work=$2
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
mkdir -p "$work" && cd "$work"
fail() { echo "FAILED: $1" >&2; exit 1; }
printf 'a\t2\tat most 3\treached\nb\t1.5\tat most 1\tnot reached\n' >old.aims
printf 'a\t3\tat most 3\treached\nc\t-1\tat most 0\treached\n' >new.aims
python3 "$folder/trend.py" old.aims --json old.json >plain
[[ $(wc -l <plain) == 2 ]] || fail "not a line for each aim: $(cat plain)"
python3 "$folder/trend.py" new.aims --compare old.json >compared
grep -q '^a .*then 2 (x 1.50)$' compared || fail "no ratio: $(cat compared)"
grep -q '^b .*not measured now, then 1.5$' compared || fail "an aim is gone: $(cat compared)"
grep '^c ' compared | grep -q then && fail "an old value of what was not there: $(cat compared)"
sed -i 's/"processors": [0-9]*/"processors": 1000/' old.json
python3 "$folder/trend.py" new.aims --compare old.json >compared
grep -q '^another processors then: 1000' compared || fail "another machine is not named"
echo '{"aims": []}' >bad.json
python3 "$folder/trend.py" new.aims --compare bad.json 2>error && fail "a wrong file was taken"
grep -q 'bad.json is no result' error || fail "no reason: $(cat error)"
