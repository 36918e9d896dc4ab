// What threads did with their time, where a recording has more than one kind of it: on a processor,
// in its queue, or waiting, and then for what. Each value's bar is divided by that.
//
//     row --> its set's kind, and its key `wait` --> kind here       acme  |cpu|queue|   lock   |
//
// These are colours of their own: they are of no label's value and of no function.

const callNames = (names) => new Set(names.split(" "));
const LOCKS = callNames("futex futex_time64 futex_wait futex_waitv semop semtimedop ipc flock fcntl");
const SLEEPS = callNames("nanosleep clock_nanosleep clock_nanosleep_time64 pause");
const DEVICES = callNames(
  "read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 fsync fdatasync " +
    "sync syncfs msync sync_file_range open openat openat2 close io_getevents io_pgetevents " +
    "io_uring_enter sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg send recv socketcall accept accept4 connect " +
    "splice tee vmsplice sendfile copy_file_range epoll_wait epoll_pwait epoll_pwait2 poll ppoll " +
    "select _newselect pselect6 pselect6_time64 ppoll_time64",
);

export const TIME_KINDS = [
  { name: "cpu", color: "#e58a2b" },
  { name: "runnable", color: "#e3c84a" },
  { name: "lock", color: "#b0568f" },
  { name: "I/O", color: "#3f7fbf" },
  { name: "sleep", color: "#7fb7c9" },
  { name: "other waits", color: "#7d8f6a" },
  { name: "idle", color: "#b4b9c0" },
];
const [CPU, RUNNABLE, LOCK, DEVICE, SLEEP, OTHER_WAIT, IDLE] = TIME_KINDS.keys();

function kindOf(state, wait) {
  if (state === "cpu") return CPU;
  if (state === "runnable") return RUNNABLE;
  if (wait === "idle") return IDLE;
  if (LOCKS.has(wait)) return LOCK;
  if (SLEEPS.has(wait)) return SLEEP;
  return state === "blocked" || DEVICES.has(wait) ? DEVICE : OTHER_WAIT;
}

// The kind of each row; null if all rows are of one, or their kinds are not known.
export function timeKinds(profile) {
  const { count, set } = profile.rows;
  const wait = profile.keys.get("wait");
  const waits = wait ? profile.codes(wait) : null;
  const ofState = new Map(); // state -> code of `wait` -> kind
  const ofRow = new Uint8Array(count);
  const seen = new Set();
  for (let row = 0; row < count; row++) {
    const state = profile.sets.kind(set[row]);
    if (state === "") return null;
    if (!ofState.has(state)) ofState.set(state, new Map());
    const known = ofState.get(state);
    const code = waits?.[row] ?? 0;
    if (!known.has(code)) known.set(code, kindOf(state, wait?.token(code)));
    ofRow[row] = known.get(code);
    seen.add(ofRow[row]);
  }
  return seen.size > 1 ? ofRow : null;
}

// What the rows of a slice weigh, by kind.
export function kindWeights(slice, ofRow) {
  const sums = TIME_KINDS.map(() => 0);
  slice.forRows(0, ofRow.length, (row, weight) => (sums[ofRow[row]] += weight));
  return sums;
}

// For each code of the key what its rows weigh, by kind.
export function kindSums(profile, slice, key, ofRow) {
  const sums = TIME_KINDS.map(() => new Float64Array(key.codeCount));
  const codes = profile.codes(key);
  const { weights } = slice;
  for (let row = 0; row < codes.length; row++) {
    sums[ofRow[row]][codes[row]] += weights[row + 1] - weights[row];
  }
  return sums;
}

// The kinds that a value's time has, in their order: [{ name, color, weight }].
export function kindsOfValue(kinds, code) {
  return TIME_KINDS.map((kind, i) => ({ ...kind, weight: kinds[i][code] })).filter(
    ({ weight }) => weight > 0,
  );
}

// A background with a stripe for each kind, as wide as its part.
export function stripes(parts) {
  const whole = parts.reduce((sum, { weight }) => sum + weight, 0);
  let at = 0;
  const stops = parts.map(({ color, weight }) => {
    const from = (100 * at) / whole;
    at += weight;
    return `${color} ${from.toFixed(2)}% ${((100 * at) / whole).toFixed(2)}%`;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}
