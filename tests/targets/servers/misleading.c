/* Symbols of servers that lead nowhere, which no compiler makes:
 *
 *   NOWHERE=N   PostgreSQL, whose variables are at address N, outside of every mapping
 *   LOOP        MariaDB, whose accessors jump to themselves
 *   OUTSIDE     MariaDB, whose accessors are outside of the file's segments
 *   FAR=N       HAProxy, whose thread-local variable is N bytes behind the end of its block
 *   EMPTY       Redis, whose `server` has no size
 *
 * TRUTH is what labelscope must say of its threads. PRESET is empty if no preset may fit. */
#include <stddef.h>

#include "server.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define SYMBOL(name, kind, size, value)                                                            \
  __asm__(".globl " #name "\n.type " #name ", %" #kind "\n.size " #name ", " #size "\n.set " #name \
          ", " value "\n")

#if defined NOWHERE
SYMBOL(MyBEEntry, object, 8, TEXT(NOWHERE));
SYMBOL(MyProcPid, object, 4, TEXT(NOWHERE));
SYMBOL(MyProcPort, object, 8, TEXT(NOWHERE));
SYMBOL(debug_query_string, object, 8, TEXT(NOWHERE));
SYMBOL(my_wait_event_info, object, 8, TEXT(NOWHERE));
FUNCTION void pgstat_report_query_id(void) {}
static volatile unsigned role;
FUNCTION unsigned GetUserId(void) { return role; }
#elif defined FAR
__asm__(".section .tbss, \"awT\", %nobits\nblock: .skip 8\n.text\n");
SYMBOL(th_ctx, tls_object, 8, "block + " TEXT(FAR));
EXPORTED char ha_thread_ctx[16384];
FUNCTION void process_stream(void) {}
FUNCTION void h1_io_cb(void) { __asm__ volatile("nop"); }
FUNCTION void sc_conn_io_cb(void) { __asm__ volatile("nop; nop; nop"); }
#elif defined EMPTY
__asm__(".data\n.globl server\n.type server, %object\n.size server, 0\nserver: .skip 8\n.text\n");
EXPORTED int redisCommandTable[4];
FUNCTION void serverLogRaw(void) {}
#else
#if defined LOOP
#ifdef __aarch64__
__asm__(".text\nmisleading: b misleading\n.skip 64\n");
#else
__asm__(".text\nmisleading: jmp misleading\n.skip 64\n");
#endif
#else
__asm__(".set misleading, 0x7000000000\n");
#endif
SYMBOL(_current_thd, function, 64, "misleading");
SYMBOL(thd_user_name, function, 64, "misleading");
SYMBOL(thd_current_db, function, 64, "misleading");
SYMBOL(thd_sql_command, function, 64, "misleading");
SYMBOL(thd_query_string, function, 64, "misleading");
SYMBOL(thd_get_thread_id, function, 64, "misleading");
#endif

static void reset(void) {}
static const struct state kStates[] = {{"at any time", NULL, TRUTH, OTHER}, {0}};

const struct server* the_server(void) {
  static const struct server kServer = {PRESET, NULL, reset, kStates, NULL, NULL, NULL};
  return &kServer;
}
