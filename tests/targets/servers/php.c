/* PHP as PHP-FPM, as a module of Apache (MODULE), or as the interpreter of the command line (CLI).
 * SIZE is that of sapi_globals, and STARTED where it says that a request has started: both differ
 * between processors. STRANGER is one that no preset fits. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "server.h"

struct sapi_globals {
  void* server_context;
  const char* request_method;
  const char* query_string;
  void* unused[2];
  const char* path_translated;
  const char* request_uri;
  char other_members[STARTED - 56];
  unsigned char sapi_started;
  char rest[SIZE - STARTED - 1];
};
_Static_assert(sizeof(struct sapi_globals) == SIZE, "as the server's");
_Static_assert(offsetof(struct sapi_globals, path_translated) == 40, "as the server's");
_Static_assert(offsetof(struct sapi_globals, sapi_started) == STARTED, "as the server's");

EXPORTED _Alignas(8) struct sapi_globals sapi_globals;
EXPORTED char executor_globals[1800];
struct module {
  const char* name;
};
EXPORTED struct module sapi_module;
#ifdef MODULE
EXPORTED struct module php_module;
#endif
#ifdef CLI
FUNCTION void php_cli_get_shell_callbacks(void) {}
#endif

#ifndef MODULE
static void forget_parameters(void);
#endif

static void set_request(void) {
  sapi_globals.request_method = "GET";
  sapi_globals.path_translated = "/srv/index.php";
  sapi_globals.request_uri = "/index.php";
  sapi_globals.sapi_started = 1;
}
/* What lies where the last request was, of whoever has the memory now. */
static void leave_garbage(void) {
  sapi_globals.request_method = "resets/php/";
  sapi_globals.request_uri = "resets/php/";
}
static void forget_script(void) { sapi_globals.path_translated = NULL; }
static void between_requests_of_fpm(void) {
  leave_garbage();
  forget_script();
#ifndef MODULE
  forget_parameters();
#endif
}
static void between_requests_of_apache(void) {
  leave_garbage();
  sapi_globals.path_translated = "resets/php/";
  sapi_globals.sapi_started = 0;
}
static void have_no_context(void) { sapi_globals.server_context = NULL; }

#define NO_REQUEST "stale: no request has started"
#define BETWEEN "stale: between two requests"

#ifdef MODULE

struct request {
  char other_members[48];
  const char* the_request;
};
static struct request request;
static struct {
  void* unused;
  struct request* request;
} php_struct;

static void reset(void) {
  set_request();
  request.the_request = "POST /shop/cart?card=4711 HTTP/1.1";
  php_struct.request = &request;
  sapi_globals.server_context = &php_struct;
}
static void ask_for_nothing(void) { request.the_request = "POST"; }

#define REQUEST "script=/srv/index.php, method=GET"
static const struct state kStates[] = {
    {"a request", NULL, "route=/shop/cart, " REQUEST, NULL},
    {"between two requests, as Apache leaves it", between_requests_of_apache, NO_REQUEST, NULL},
    {"between two requests, as PHP-FPM leaves it", between_requests_of_fpm, BETWEEN, NULL},
    {"a request line of one word", ask_for_nothing, REQUEST, NULL},
    {"no request of Apache", have_no_context, REQUEST, NULL},
    {0}};

#else

/* The parameters of FastCGI: a table of buckets, each of which begins a list. */
struct parameter {
  uint32_t hash;
  uint32_t name_length;
  const char* name;
  uint32_t value_length;
  const char* value;
  struct parameter* next;
};
_Static_assert(offsetof(struct parameter, value) == 24, "as the server's");
struct request {
  char other_members[8296];
  struct parameter* buckets[128];
};
enum { kRequestUri = 1955, kBucket = 35 };
static struct request request;
static struct parameter list[6];

static void set_list(int length, int uri) {
  for (int i = 0; i < length; i++) {
    list[i] = (struct parameter){.hash = kRequestUri + 128U * (unsigned)(i + 1),
                                 .name = "HTTP_X_OTHER",
                                 .value = "/of/another/parameter",
                                 .next = i + 1 < length ? &list[i + 1] : NULL,
                                 NULL};
  }
  if (uri < length) {
    list[uri].hash = kRequestUri;
    list[uri].name = "REQUEST_URI";
    list[uri].value = "/shop/cart?card=4711";
  }
  request.buckets[kBucket] = list;
}
static void reset(void) {
  set_request();
  sapi_module.name = "fpm-fcgi";
  sapi_globals.server_context = &request;
  set_list(1, 0);
}

static void be_cgi(void) { sapi_module.name = "cgi-fcgi"; }
static void have_no_sapi(void) { sapi_module.name = NULL; }
static void have_collisions(void) { set_list(4, 3); }
static void have_long_list(void) { set_list(6, 5); }
/* A header "Ro" of the client. */
static void have_header(void) {
  set_list(2, 1);
  list[0].hash = kRequestUri;
  list[0].name = "HTTP_RO";
}
static void have_circle(void) {
  set_list(3, 3);
  list[2].next = list;
}
static void have_no_parameter(void) { request.buckets[kBucket] = NULL; }
static void forget_parameters(void) { have_no_parameter(); }
static void have_empty_path(void) { list[0].value = "?card=4711"; }
static void be_master(void) { set_title("php-fpm: master process (/etc/php/fpm.conf)"); }

#define REQUEST "script=/srv/index.php, method=GET"
#define POOL ", pool=www"
static const struct state kStates[] = {
    {"a request", NULL, "route=/shop/cart, " REQUEST POOL, NULL},
    {"between two requests, as PHP-FPM leaves it", between_requests_of_fpm, "pool=www", NULL},
    {"a shutdown function of a request", forget_script, "route=/shop/cart" POOL, NULL},
    {"between two requests, as Apache leaves it", between_requests_of_apache, NO_REQUEST, NULL},
    {"no interface is known", have_no_sapi, "stale: this PHP is not PHP-FPM", NULL},
    {"php-cgi has the same variables", be_cgi, "stale: this PHP is not PHP-FPM", NULL},
    {"other parameters are in the bucket, too", have_collisions, "route=/shop/cart, " REQUEST POOL,
     NULL},
    {"more parameters are in the bucket than are searched", have_long_list, REQUEST POOL, NULL},
    {"a header has the same hash", have_header, REQUEST POOL, NULL},
    {"the list is a circle", have_circle, REQUEST POOL, NULL},
    {"nothing is in the bucket", have_no_parameter, REQUEST POOL, NULL},
    {"a route without a path", have_empty_path, REQUEST POOL, NULL},
    {"no request of FastCGI", have_no_context, REQUEST POOL, NULL},
    {"the master has no pool", be_master, "route=/shop/cart, " REQUEST, NULL},
    {0}};

#endif

static void list_areas(struct area* areas) {
  const struct area all[] = {
      AREA(sapi_globals),
      AREA(sapi_module),
      AREA(request),
#ifdef MODULE
      AREA(php_struct),
#else
      AREA(list),
#endif
  };
  memcpy(areas, all, sizeof all);
}

const struct server* the_server(void) {
#if defined STRANGER
  static const struct server kServer = {"", NULL, reset, kStates, NULL, list_areas, NULL};
#elif defined MODULE
  static const struct server kServer = {"mod-php", NULL, reset, kStates, NULL, list_areas, NULL};
#else
  static const struct server kServer = {"php-fpm", "php-fpm: pool www", reset, kStates,
                                        NULL,      list_areas,          NULL};
#endif
  return &kServer;
}
