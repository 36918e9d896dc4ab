/* OpenTelemetry's thread context as OTEP 4947 wants the file, or with one flaw, which the build
 * names: GLOBAL, INLINE, PACKED or UNUSED. */
typedef const void* pointer;
typedef const void* packed_pointer __attribute__((aligned(1)));

#if defined(GLOBAL)
pointer otel_thread_ctx_v1;
#elif defined(INLINE)
__thread struct { unsigned char bytes[28]; } otel_thread_ctx_v1;
#elif defined(PACKED)
__thread char before;
__thread packed_pointer otel_thread_ctx_v1;
#else
__thread pointer otel_thread_ctx_v1;
#endif

#if !defined(UNUSED)
void* where_it_is(void) { return &otel_thread_ctx_v1; }
#endif
