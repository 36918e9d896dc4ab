/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* With LS_WITH_READ_LOG a reading keeps what it has read of the target's memory, if that is wanted:
 *
 *   reads:  | address, size, at | address, size, at | ...
 *   bytes:  | what was there    | what was there    | ...
 *
 * A walk decides by these bytes alone what to read next, and what the labels are. So while the same
 * places have the same bytes, the labels are the same, and the walk can be left out. No address in
 * the log is trusted: bytes are compared. What else a walk depends on (the recipes, the thread
 * pointer) is known to who keeps a log. */
#ifndef LABELSCOPE_READ_LOG_BPF_H
#define LABELSCOPE_READ_LOG_BPF_H

#define LS_LOG_READS 10
#define LS_LOG_BYTES 864

struct ls_logged_read {
  __u64 address;
  __u32 size;
  __u32 at; /* where its bytes are */
};

struct ls_read_log {
  __u64 count;  /* of reads; 0 if the log is not the whole of a reading */
  __u64 size;   /* how many bytes there are */
  __u64 wanted; /* no longer if there was no room, or if a read has failed */
  struct ls_logged_read reads[LS_LOG_READS];
  __u8 bytes[2 * LS_LOG_BYTES]; /* the verifier's bound of a place is that of `size`, twice */
};

static __always_inline void ls_begin_log(struct ls_read_log* log, _Bool wanted) {
  log->wanted = wanted;
  log->count = 0;
  log->size = 0;
}

/* The labels depend on something that is not in the log. */
static __always_inline void ls_spoil_log(struct ls_read_log* log) {
  if (!log) return;
  log->wanted = 0;
  log->count = 0;
}

/* Keeps what was read to `out` a moment ago. */
static __attribute__((noinline)) long ls_log_read(struct ls_read_log* log, const void* out,
                                                  __u32 size, __u64 address) {
  if (!log) return 0; /* for the verifier */
  __u64 at = log->size;
  __u64 number = log->count;
  __u64 length = size;
  ls_keep_together(at);
  ls_keep_together(number);
  ls_keep_together(length);
  if (number >= LS_LOG_READS || at > LS_LOG_BYTES || length > LS_LOG_BYTES) {
    ls_spoil_log(log);
    return 0;
  }
  struct ls_logged_read* read = &log->reads[number];
  read->address = address;
  read->size = length;
  read->at = at;
  bpf_probe_read_kernel(log->bytes + at, length, out);
  log->size = at + length;
  log->count = number + 1;
  return 0;
}

/* Of the last read only so many bytes are looked at. */
static __always_inline void ls_trim_log(struct ls_read_log* log, __u64 size) {
  if (!log) return;
  __u64 last = log->count - 1;
  ls_keep_together(last);
  if (last >= LS_LOG_READS) return;
  if (size < log->reads[last].size) log->reads[last].size = size;
}

#endif /* LABELSCOPE_READ_LOG_BPF_H */
