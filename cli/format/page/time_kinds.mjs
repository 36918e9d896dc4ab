// What threads did with their time, where a recording has more than one kind of it: on a processor,
// in its queue, or waiting, and then for what. Each value's bar is divided by that.
//
//     row --> its keys `state` and `wait` --> kind          acme  |cpu|queue|   lock   |
//
// These are colours of their own: they are of no label's value and of no function.

const callNames = (names) => new Set(names.split(" "));
const LOCKS = callNames("futex futex_wait futex_waitv semop semtimedop flock fcntl");
const SLEEPS = callNames("nanosleep clock_nanosleep pause");
const DEVICES = callNames(
  "read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 fsync fdatasync " +
    "sync syncfs msync sync_file_range open openat openat2 close io_getevents io_pgetevents " +
    "io_uring_enter sendto sendmsg sendmmsg recvfrom recvmsg recvmmsg accept accept4 connect " +
    "splice tee vmsplice sendfile copy_file_range epoll_wait epoll_pwait epoll_pwait2 poll ppoll " +
    "select pselect6",
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
  const state = profile.keys.get("state");
  if (!state || !state.values.includes("waiting")) return null;
  const wait = profile.keys.get("wait");
  const states = profile.codes(state);
  const waits = wait ? profile.codes(wait) : null;
  const known = new Map();
  const ofRow = new Uint8Array(states.length);
  for (let row = 0; row < states.length; row++) {
    const code = waits ? waits[row] : 0;
    const both = states[row] * (wait?.codeCount ?? 1) + code;
    let kind = known.get(both);
    if (kind === undefined) {
      kind = kindOf(state.token(states[row]), wait?.token(code));
      known.set(both, kind);
    }
    ofRow[row] = kind;
  }
  return ofRow;
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
