/* What the benchmark's BPF programs and its user side share. */
#ifndef LABELSCOPE_BENCH_WIRE_H
#define LABELSCOPE_BENCH_WIRE_H

#include <linux/types.h>

/* Within one run of a hot_* program: long enough to make the clock's own cost vanish, short enough
 * to fit between two timer interrupts mostly. */
#define BENCH_REPETITIONS 256

#define BENCH_RECORDS 4096
#define BENCH_RECORD_BYTES 1024
/* By one run of `emit`. */
#define BENCH_EMITTED 1024

struct bench_result {
  __u64 elapsed_ns;
  __u64 emitted;
  __u64 dropped;
  __u32 frames;
  __u32 outcome;
  __u32 labels;
  __u32 label_bytes;
};

struct bench_record {
  __u64 size;
  __u8 bytes[BENCH_RECORD_BYTES];
};

#endif /* LABELSCOPE_BENCH_WIRE_H */
