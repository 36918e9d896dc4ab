/* A thread context as its format wants it, or with one flaw, which the build names: GLOBAL, POINTER
 * or UNALIGNED. */
struct record {
  unsigned long long span_id, root_span_id, checksum;
  unsigned tags[10];
};

#if defined(GLOBAL)
struct record context_tls_v1 __attribute__((aligned(64)));
#elif defined(POINTER)
__thread struct record* context_tls_v1;
#elif defined(UNALIGNED)
__thread struct record context_tls_v1;
#else
__thread struct record context_tls_v1 __attribute__((aligned(64)));
#endif
