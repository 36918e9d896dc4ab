/* uWSGI: `uwsgi`, whose member is the request that the first thread works on, and the function that
 * returns it. Defined are the size of `uwsgi` (SIZE), and UNKNOWN for a build of which no preset
 * knows the numbers. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server.h"

typedef struct {
  const char* bytes;
  uint16_t length;
} text;

/* The places are those of struct wsgi_request in Debian's 2.0.21, as `uwsgi --dot-h` prints it. */
typedef struct {
  char before[24];
  uint32_t parsed;
  char unused[164];
  text uri;
  text client;
  char more[48];
  text method;
  char yet_more[48];
  text host;
} request;
_Static_assert(offsetof(request, uri) == 192, "uri");
_Static_assert(offsetof(request, client) == 208, "client");
_Static_assert(offsetof(request, method) == 272, "method");
_Static_assert(offsetof(request, host) == 336, "host");

EXPORTED union {
  unsigned char bytes[SIZE];
  struct {
    unsigned char before[64];
    request* current;
  } members;
} uwsgi;
FUNCTION request* simple_current_wsgi_req(void) { return uwsgi.members.current; }
FUNCTION void uwsgi_close_request(void) {}
FUNCTION void uwsgi_register_loop(void) {}

static request own;

static text text_of(const char* bytes) { return (text){bytes, (uint16_t)strlen(bytes)}; }

/* No text ends where its bytes do: it lies in the buffer of the request, with others behind it. */
static void reset(void) {
  own.parsed = 1;
  own.uri = text_of("/pay?card=4111 HTTP/1.1");
  own.uri.length = 14;
  own.method = text_of("GET /pay");
  own.method.length = 3;
  own.host = text_of("shop.example\r\n");
  own.host.length = 12;
  own.client = text_of("192.0.2.7 ");
  own.client.length = 9;
  uwsgi.members.current = &own;
}

static void have_no_request(void) { uwsgi.members.current = NULL; }
/* Until the request is parsed, the host is the server's own name. */
static void parse(void) {
  own.parsed = 0;
  own.host = text_of("worker-17");
}
static void have_no_host(void) { own.host.length = 0; }
static void begin(void) {
  own.uri.length = own.method.length = own.host.length = own.client.length = 0;
}
static void have_no_texts(void) { memset(&own, 0, sizeof own); }

static const struct state kStates[] = {
    {"a request is answered", NULL,
     "route=/pay, method=GET, host=shop.example, client=192.0.2.7", NULL},
    {"the process waits for its first request", have_no_request, "unlabelled", NULL},
    {"a request is parsed", parse, "route=/pay, method=GET, client=192.0.2.7", NULL},
    {"a request without a host", have_no_host, "route=/pay, method=GET, client=192.0.2.7", NULL},
    {"a request of which nothing has come", begin, "unlabelled", NULL},
    {"between two requests all is zero", have_no_texts, "unlabelled", NULL},
    {0}};

static void list_areas(struct area* areas) {
  const struct area all[] = {AREA(uwsgi), AREA(own)};
  memcpy(areas, all, sizeof all);
}

const struct server* the_server(void) {
#ifdef UNKNOWN
  static const struct server kServer = {"", NULL, reset, kStates, NULL, list_areas, NULL};
#else
  static const struct server kServer = {"uwsgi", NULL, reset, kStates, NULL, list_areas, NULL};
#endif
  return &kServer;
}
