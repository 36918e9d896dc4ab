/* A thread that sets labels has two blocks and two handles in one piece of memory, from its first
 * call to its end. */
#include "thread_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

__thread struct thread_state cl_own_thread;

/* Ten labels at their limits fit exactly, so that a string never lacks room: only the count can be
 * full. Strings may be copied in vectors of 16 bytes, so there is room for whole ones. */
#define PROGRAM_BYTES (CUSTOM_LABELS_THREAD_MAX_KEY + CUSTOM_LABELS_THREAD_MAX_VALUE)
#define TRACE_BYTES                                                                   \
  (sizeof CUSTOM_LABELS_SPAN_ID_KEY - 1 + sizeof CUSTOM_LABELS_ROOT_SPAN_ID_KEY - 1 + \
   2 * CUSTOM_LABELS_THREAD_MAX_TRACE_VALUE)
#define STRING_BYTES (CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS * (size_t)PROGRAM_BYTES + TRACE_BYTES)
_Static_assert(sizeof(struct label_block) +
                       CUSTOM_LABELS_THREAD_MAX_LABELS * sizeof(custom_labels_label_t) +
                       (STRING_BYTES + 15) / 16 * 16 ==
                   CUSTOM_LABELS_THREAD_BLOCK_SIZE,
               "room for every label at its limit");
_Static_assert(CUSTOM_LABELS_THREAD_BLOCK_SIZE % _Alignof(struct label_block) == 0, "aligned");

struct thread_memory {
  char blocks[2][CUSTOM_LABELS_THREAD_BLOCK_SIZE];
  struct label_handle handles[2];
};
_Static_assert(sizeof(struct thread_memory) == CUSTOM_LABELS_THREAD_MEMORY, "stated in writer.h");

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t threads_with_blocks;
static pthread_key_t thread_end_key;
static int key_error;

/* A handler that comes in between is refused, as within any call. A call that the end of the thread
 * has interrupted does not go on, so destructors may set labels again afterwards. */
static void end_thread(void* memory) {
  struct thread_state* thread = this_thread();
  (void)enter_call(thread);
  publish(thread->slot, NULL);
  thread->shown = NULL;
  thread->live = NULL;
  thread->next = NULL;
  thread->blocks = NULL;
  thread->handle = NULL;
  free(memory);
  leave_call(thread);
}

static void create_key(void) { key_error = pthread_key_create(&thread_end_key, end_thread); }

bool cl_allocate_blocks(struct thread_state* thread) {
  pthread_once(&key_once, create_key);
  if (key_error != 0) return false;
  struct thread_memory* memory = malloc(sizeof *memory);
  if (memory == NULL) return false;
  /* A handler may end the thread from here on, and end_thread needs the slot. */
  current_slot(thread);
  if (pthread_setspecific(thread_end_key, memory) != 0) {
    free(memory);
    return false;
  }
  thread->blocks = (struct label_block*)(void*)memory->blocks[0];
  thread->next = thread->blocks;
  thread->handle = &memory->handles[0];
  thread->relation = kUnrelated;
  const uint64_t number = atomic_fetch_add_explicit(&threads_with_blocks, 1, memory_order_relaxed);
  for (int i = 0; i < 2; i++) {
    cl_block_init((struct label_block*)(void*)memory->blocks[i], CUSTOM_LABELS_THREAD_MAX_LABELS);
    handle_init_thread(&memory->handles[i]);
    thread->builds[i] = number * BUILDS_OF_THREAD;
  }
  return true;
}

void cl_replace_handle(struct thread_state* thread) {
  struct thread_memory* memory = (struct thread_memory*)(void*)thread->blocks;
  thread->handle = &memory->handles[thread->handle == &memory->handles[0] ? 1 : 0];
}
