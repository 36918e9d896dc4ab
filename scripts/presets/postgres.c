// Numbers of reader/presets/postgres.preset, by the headers of the server
// (postgresql-server-dev-15).
#include "postgres.h"

#include "libpq/libpq-be.h"
#include "numbers.h"
#if PG_VERSION_NUM >= 140000
#include "utils/backend_status.h"
#else
#include "pgstat.h"
#endif

void numbers(void) {
  NUMBER("be.changecount", offsetof(PgBackendStatus, st_changecount));
  NUMBER("be.procpid", offsetof(PgBackendStatus, st_procpid));
  NUMBER("be.databaseid", offsetof(PgBackendStatus, st_databaseid));
  NUMBER("be.userid", offsetof(PgBackendStatus, st_userid));
  NUMBER("be.state", offsetof(PgBackendStatus, st_state));
  NUMBER("be.appname", offsetof(PgBackendStatus, st_appname));
  NUMBER("be.activity", offsetof(PgBackendStatus, st_activity_raw));
#if PG_VERSION_NUM >= 140000
  NUMBER("query", offsetof(PgBackendStatus, st_query_id));
#endif
  NUMBER("running", STATE_RUNNING);
  NUMBER("db", offsetof(Port, database_name));
  NUMBER("user", offsetof(Port, user_name));
}
