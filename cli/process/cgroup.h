// What the cgroup path of a process tells: its container, pod and systemd unit. Pure text.
//
// Whoever starts a container gives it a cgroup, and its name has the container's ID. The forms:
//
//   docker, cgroupfs       /docker/ID                          systemd   /system.slice/docker-ID.scope
//   podman                 /libpod_parent/libpod-ID                      /machine.slice/libpod-ID.scope/container
//   kubernetes             /kubepods/burstable/podUID/ID                 /kubepods.slice/kubepods-burstable.slice/
//                                                                          kubepods-burstable-podUID.slice/cri-containerd-ID.scope
//   the same, mixed up     /system.slice/kubepods-burstable-podUID.slice:cri-containerd:ID
//   a service              /system.slice/nginx.service         of a user /user.slice/user-1000.slice/user@1000.service/
//                                                                          app.slice/firefox.service
//
// An ID has 64 hexadecimal digits, a pod's UID is a UUID (systemd wants "_" for its "-") or, of a
// static pod, 32 digits. The innermost wins where they are nested.
#pragma once

#include <string>
#include <string_view>

namespace labelscope::cli {

// Bytes; empty: there is none.
struct CgroupFacts {
  std::string container;  // its ID
  std::string pod;        // its UID, with "-"
  std::string unit;       // "nginx.service", escaped as systemd does
  std::string path;       // of version 2, or of systemd's hierarchy
};

// `text`: all of /proc/PID/cgroup. The path of version 2 counts first, then systemd's own hierarchy
// of version 1, then the others.
CgroupFacts parse_cgroup(std::string_view text);

}  // namespace labelscope::cli
