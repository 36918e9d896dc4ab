// The container, pod and systemd unit of a process, by its cgroup path. This is pure text.
//
// A container runs in a cgroup of its own, whose name has the container's ID. The forms are:
//
//   docker, cgroupfs   /docker/ID
//           systemd    /system.slice/docker-ID.scope
//   podman             /libpod_parent/libpod-ID
//                      /machine.slice/libpod-ID.scope/container
//   kubernetes         /kubepods/burstable/podUID/ID
//                      /kubepods.slice/kubepods-burstable.slice/
//                        kubepods-burstable-podUID.slice/cri-containerd-ID.scope
//     mixed            /system.slice/kubepods-burstable-podUID.slice:cri-containerd:ID
//   a service          /system.slice/nginx.service
//     of a user        /user.slice/user-1000.slice/user@1000.service/app.slice/firefox.service
//
// An ID has 64 hexadecimal digits. A pod's UID is a UUID (systemd wants "_" for its "-") or, for a
// static pod, 32 digits. If they are nested, the innermost counts.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace labelscope::cli {

// All are bytes; empty: there is none.
struct CgroupNames {
  std::string container;  // ID of the container
  std::string pod;        // UID of the pod, with "-"
  std::string unit;       // "nginx.service", escaped as systemd does
  std::string path;       // path of version 2, or of systemd's hierarchy
};

// `text` is all of /proc/PID/cgroup. The path of version 2 counts first, then systemd's own
// hierarchy of version 1, then the others.
CgroupNames parse_cgroup(std::string_view text);

// The following look at every line of such a text, of both versions.

// "nginx" is the unit nginx.service, as systemctl understands it.
std::string whole_unit(const std::string& word);
// In paths systemd puts "_" before a unit that could be taken for a file of the kernel.
bool is_in_unit(std::string_view text, std::string_view unit);
// Whether a path is this one, or below it.
bool is_in_group(std::string_view text, std::string_view group);
std::set<std::string> units_in(std::string_view text);
std::set<std::string> groups_in(std::string_view text);
// Whether a list of controllers, "cpu,cpuacct", has this one.
bool has_controller(std::string_view list, std::string_view controller);
// Returns the path in the hierarchy of a controller of version 1, or of version 2 (empty).
std::string group_of_controller(std::string_view text, std::string_view controller);
// Makes the path "/app" of the folder "/sys/fs/cgroup/app"; "/app" is one already. `mountinfo` is
// the text of /proc/self/mountinfo.
std::string group_of_folder(std::string folder, std::string_view mountinfo);

}  // namespace labelscope::cli
