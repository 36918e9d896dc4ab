# Small files that stand for much: each is refused, or read, within a bounded time and memory, and what
# is refused says why. What labelscope itself would have written is read beside them.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command python3
# Sanitizers reserve terabytes of addresses.
(ulimit -v 4000000 && "$LABELSCOPE" --version >"$work/stdout" 2>"$work/stderr") ||
  skip_test "labelscope does not start with 4 GB of addresses"

python3 - <<'P' || fail "the files cannot be made"
import gzip

HEADER = ('{"type":"header","format":"labelscope-recording","version":1,"mode":"cpu","period_ns":1000000,'
          '"outcomes":["unlabelled","labelled"],"flags":[]}\n')
SAMPLE = ('{"type":"sample","time_ns":%d,"thread":0,"stack":null,"labels":0,"count":1,"weight_ns":1000000,'
          '"outcome":1,"flags":0}\n')
TABLES = ('{"type":"process","id":0,"pid":7,"comm":"a","publishers":["/a","/b"]}\n'
          '{"type":"thread","id":0,"pid":7,"tid":7,"name":"a"}\n')


def recording(name, lines, labels='{"type":"labels","id":0,"labels":[{"key":"k","value":"v","publisher":0}]}\n'):
    with open(name, "w") as out:
        out.write(HEADER + TABLES + labels + lines + "".join(SAMPLE % at for at in range(10)))


recording("good.jsonl", "")
recording("jump.jsonl", "x\n" * 20000 +
          "".join('{"type":"module","id":%d}\n' % (20001 * (i + 1) - 1) for i in range(1000)))
recording("deep.jsonl", '{"type":"process","x":' + "[" * (15 << 20) + "\n")
recording("wide.jsonl", '{"type":"process","x":[' + "[0]," * (15 << 18) + "0]}\n")
recording("fields.jsonl", '{"type":"process",' + ",".join('"%x":0' % i for i in range(60000)) + "}\n")
one_key = ",".join('{"key":"k","value":"v%d","publisher":%d}' % (i, i == 0) for i in range(448))
recording("one_key.jsonl", "", "".join('{"type":"labels","id":%d,"labels":[%s]}\n' % (i, one_key) for i in range(500)) )

CHECK = '{"format":"labelscope-check","version":1,"subjects":['
with open("deep.json", "w") as out:
    out.write(CHECK + "[" * (60 << 20))
with open("wide.json", "w") as out:
    out.write(CHECK + "[0]," * (15 << 20) + "0]}")


def varint(number):
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def pprof(name, content):
    texts = [b"", b"cpu", b"nanoseconds", b"f"]
    head = b"".join(message(6, text) for text in texts) + message(1, number(1, 1) + number(2, 2))
    with gzip.open(name, "wb") as out:
        out.write(head + content + message(2, message(2, varint(1))))


# IDs that a table by the numbers themselves puts into one bucket.
ids = [1 + 172933 * i for i in range(170000)]
pprof("functions.pb.gz", b"".join(message(5, number(1, i) + number(2, 3)) for i in ids))
pprof("locations.pb.gz", message(5, number(1, 1) + number(2, 3)) +
      b"".join(message(4, number(1, i) + message(4, number(1, 1))) for i in ids))
P

# bounded NAME WORDS...: with a gigabyte of addresses and 20 seconds of a processor, which none of them
# needs half of.
bounded() {
  local name=$1
  shift
  (ulimit -v 1000000 && ulimit -t 20 && exec "$LABELSCOPE" "$@") >"$work/stdout" 2>"$work/stderr"
  status=$?
  ((status < 128)) || fail "$name: ended by a signal ($status)"
  ! grep -q 'out of memory' "$work/stderr" || fail "$name: memory ran out"
}

bounded "an ordinary recording" report good.jsonl
expect_shown '^k  *100\.0%'
bounded "numbers that jump" report jump.jsonl
expect_status "$exit_error" "numbers that jump"
expect_said 'it is small and stands for much'
for what in 'deep:nested more than 16 times' 'wide:more than 65,536 values' 'fields:more than 256 fields'; do
  bounded "${what%%:*}" report "${what%%:*}.jsonl" -o kept.csv --overwrite
  grep -q "${what#*:}" "$work/stdout" "$work/stderr" || fail "${what%%:*}: it is not said why"
done
bounded "many labels of one key" report one_key.jsonl -o one_key.pb.gz
for kind in functions locations; do
  bounded "chosen IDs of $kind" report "$kind.pb.gz"
  expect_status "$exit_ok" "chosen IDs of $kind"
done
bounded "a deep baseline" check "$LABELSCOPE" --baseline deep.json
expect_said 'nested more than 32 times'
bounded "a wide baseline" check "$LABELSCOPE" --baseline wide.json
expect_said 'more than 4,000,000 values'
exit 0
