/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SipHash-1-3 over words of 64 bits (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast
 * short-input PRF", 2012): how labels get numbers that nobody can choose (label_number.bpf.h). The
 * kernel's programs and user space give the same key the same number. */
#ifndef LABELSCOPE_BPF_SIP_HASH_H
#define LABELSCOPE_BPF_SIP_HASH_H

#include "bpf/wire/wire.h"

#define LS_INLINE static inline __attribute__((always_inline))

/* The state of the hash. */
struct ls_sip {
  __u64 v0, v1, v2, v3;
};

#define LS_ROTATED(number, by) ((number) << (by) | (number) >> (64 - (by)))

LS_INLINE void ls_sip_round(struct ls_sip* sip) {
  __u64 v0 = sip->v0 + sip->v1;
  __u64 v2 = sip->v2 + sip->v3;
  __u64 v1 = LS_ROTATED(sip->v1, 13) ^ v0;
  __u64 v3 = LS_ROTATED(sip->v3, 16) ^ v2;
  v0 = LS_ROTATED(v0, 32) + v3;
  v2 += v1;
  sip->v1 = LS_ROTATED(v1, 17) ^ v2;
  sip->v3 = LS_ROTATED(v3, 21) ^ v0;
  sip->v0 = v0;
  sip->v2 = LS_ROTATED(v2, 32);
}

LS_INLINE struct ls_sip ls_sip_begin(struct ls_label_key key) {
  struct ls_sip sip = {key.words[0] ^ 0x736f6d6570736575ULL, key.words[1] ^ 0x646f72616e646f6dULL,
                       key.words[0] ^ 0x6c7967656e657261ULL, key.words[1] ^ 0x7465646279746573ULL};
  return sip;
}

LS_INLINE void ls_sip_add(struct ls_sip* sip, __u64 word) {
  sip->v3 ^= word;
  ls_sip_round(sip);
  sip->v0 ^= word;
}

LS_INLINE __u64 ls_sip_end(struct ls_sip sip) {
  sip.v2 ^= 0xff;
  for (int i = 0; i < 3; i++) ls_sip_round(&sip);
  return sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
}

#endif /* LABELSCOPE_BPF_SIP_HASH_H */
