# Programs with the symbols of the servers that presets are for, and no server (server.h). Each
# program of the folder is tested by itself (support/preset_servers.h): those with a name of a preset
# in every state, and those that no preset fits, which are of versions that none knows.
set(servers_source ${CMAKE_CURRENT_SOURCE_DIR}/servers)
set(servers_dir ${CMAKE_CURRENT_BINARY_DIR}/servers)
file(MAKE_DIRECTORY ${servers_dir})
set(servers_files "")
set(servers_common ${servers_source}/server.c ${servers_source}/fill.c)
set(servers_headers ${servers_source}/server.h ${servers_source}/fill.h)

# labelscope_add_server(<name> <source> <argument>...) builds one.
function(labelscope_add_server name source)
  add_custom_command(OUTPUT ${servers_dir}/${name}
    COMMAND ${gcc} ${compile_flags} -fPIE -pie -rdynamic -pthread ${ARGN}
      ${servers_source}/${source} ${servers_common} -o ${servers_dir}/${name}
    DEPENDS ${servers_source}/${source} ${servers_common} ${servers_headers} VERBATIM)
  set(servers_files ${servers_files} ${servers_dir}/${name} PARENT_SCOPE)
endfunction()

foreach(version 13 15 17 18 19)
  labelscope_add_server(postgres-${version} postgres.c -DVERSION=${version})
endforeach()
labelscope_add_server(redis-6.0 redis.c -DSIZE=3712 -DCUR=656 -DDB=24 -DNAME=32 -DCMD=96 -DUSER=112
  -DDBID=40 -DFULL=0 -DTABLE=redisCommandTable)
labelscope_add_server(redis-7.0 redis.c -DSIZE=4368 -DCUR=752 -DDB=32 -DNAME=40 -DCMD=112 -DUSER=136
  -DDBID=40 -DFULL=400 -DTABLE=redisCommandTable)
labelscope_add_server(valkey-8.0 redis.c -DSIZE=6128 -DCUR=1576 -DDB=32 -DNAME=40 -DCMD=152
  -DUSER=184 -DDBID=48 -DFULL=216 -DTABLE=serverCommandTable)
labelscope_add_server(redis-unknown redis.c -DUNKNOWN -DSIZE=5904 -DCUR=1480 -DDB=32 -DNAME=40
  -DCMD=128 -DUSER=152 -DDBID=56 -DFULL=216 -DTABLE=redisCommandTable)
labelscope_add_server(php-fpm php.c -DSIZE=552 -DSTARTED=436)
labelscope_add_server(php-fpm-aarch64 php.c -DSIZE=536 -DSTARTED=420)
labelscope_add_server(php-fpm-unknown php.c -DSIZE=560 -DSTARTED=444 -DSTRANGER)
labelscope_add_server(php-cli php.c -DSIZE=552 -DSTARTED=436 -DCLI -DSTRANGER)
labelscope_add_server(mariadb mariadb.c)
labelscope_add_server(haproxy haproxy.c)
labelscope_add_server(haproxy-unknown haproxy.c -DTHREADS=32)
labelscope_add_server(uwsgi uwsgi.c -DSIZE=11296)
labelscope_add_server(uwsgi-unknown uwsgi.c -DSIZE=11304 -DUNKNOWN)
labelscope_add_server(titled titled.c)

# labelscope_add_misleading(<name> <preset> <truth> <truth of the second thread> <argument>...)
function(labelscope_add_misleading name preset truth other)
  labelscope_add_server(${name} misleading.c -DPRESET="${preset}" -DTRUTH="${truth}" -DOTHER="${other}"
    ${ARGN})
  set(servers_files ${servers_files} PARENT_SCOPE)
endfunction()
labelscope_add_misleading(postgres-nowhere postgres not-resident unlabelled -DNOWHERE=0x123456789000)
labelscope_add_misleading(postgres-in-kernel postgres malformed unlabelled -DNOWHERE=0xffff888000000000)
labelscope_add_misleading(haproxy-far haproxy not-resident not-resident -DFAR=0x400000000000)
labelscope_add_misleading(haproxy-very-far haproxy malformed malformed -DFAR=0x7000000000000000)
labelscope_add_misleading(mariadb-loop "" "" "" -DLOOP)
labelscope_add_misleading(mariadb-outside "" "" "" -DOUTSIDE)
labelscope_add_misleading(redis-empty "" "" "" -DEMPTY)

# In Apache, PHP is in a library.
foreach(kind "mod-php 552 436" "mod-php-aarch64 536 420" "mod-php-unknown 560 444 -DSTRANGER")
  separate_arguments(kind)
  list(POP_FRONT kind name size started)
  set(library ${servers_dir}/lib/${name}.so)
  file(MAKE_DIRECTORY ${servers_dir}/lib)
  add_custom_command(OUTPUT ${library}
    COMMAND ${gcc} ${compile_flags} -fPIC -shared -DMODULE -DSIZE=${size} -DSTARTED=${started} ${kind}
      ${servers_source}/php.c -o ${library}
    DEPENDS ${servers_source}/php.c ${servers_headers} VERBATIM)
  add_custom_command(OUTPUT ${servers_dir}/${name}
    COMMAND ${gcc} ${compile_flags} -fPIE -pie -rdynamic -pthread ${servers_common} ${library}
      -o ${servers_dir}/${name}
    DEPENDS ${servers_common} ${servers_headers} ${library} VERBATIM)
  list(APPEND servers_files ${servers_dir}/${name})
endforeach()

add_custom_target(labelscope_servers ALL DEPENDS ${servers_files})
