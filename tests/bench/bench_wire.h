/* What the benchmark's BPF programs and its user side share. */
#ifndef LABELSCOPE_BENCH_WIRE_H
#define LABELSCOPE_BENCH_WIRE_H

#include <linux/types.h>

/* The repetitions within one run of a hot_* program. They are enough for the clock's own cost to
 * vanish, and few enough to mostly fit between two timer interrupts. */
#define BENCH_REPETITIONS 256

#define BENCH_RECORDS 4096
#define BENCH_RECORD_BYTES 1024
/* The number of records that one run of `emit` sends. */
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
