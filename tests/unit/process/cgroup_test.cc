// Tests the names of cgroup paths by container runtimes and systemd.
#include "cli/process/cgroup.h"

#include "support/catch.h"

using namespace labelscope::cli;

namespace {

const std::string kId = "3f4a9c0d1e2b3f4a9c0d1e2b3f4a9c0d1e2b3f4a9c0d1e2b3f4a9c0d1e2b3f4a";
const std::string kOther(64, 'b');
const std::string kUid = "9d8f6c5e-1234-4abc-8def-0123456789ab";
const std::string kUidOfSystemd = "9d8f6c5e_1234_4abc_8def_0123456789ab";
const std::string kStaticUid = "0123456789abcdef0123456789abcdef";

CgroupNames v2(const std::string& path) { return parse_cgroup("0::" + path + "\n"); }

}  // namespace

TEST_CASE("cgroup: docker and podman, by both drivers") {
  CHECK(v2("/docker/" + kId).container == kId);
  CHECK(v2("/system.slice/docker-" + kId + ".scope").container == kId);
  CHECK(v2("/libpod_parent/libpod-" + kId).container == kId);
  CHECK(v2("/machine.slice/libpod-" + kId + ".scope/container").container == kId);
  CHECK(v2("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope")
            .container == kId);
  CHECK(v2("/system.slice/nerdctl-" + kId + ".scope").container == kId);
  CHECK(v2("/default/" + kId).container == kId);  // containerd's namespace
}

TEST_CASE("cgroup: kubernetes, by both drivers and versions") {
  const std::string pods[] = {
      "/kubepods/burstable/pod" + kUid + "/" + kId,
      "/kubepods/pod" + kUid + "/" + kId,
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kUidOfSystemd +
          ".slice/cri-containerd-" + kId + ".scope",
      "/kubepods.slice/kubepods-pod" + kUidOfSystemd + ".slice/crio-" + kId + ".scope",
      "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
      "kubelet-kubepods-besteffort-pod" +
          kUidOfSystemd + ".slice/cri-containerd-" + kId + ".scope",
      "/system.slice/containerd.service/kubepods-burstable-pod" + kUidOfSystemd +
          ".slice:cri-containerd:" + kId};
  for (const std::string& path : pods) {
    INFO(path);
    CHECK(v2(path).container == kId);
    CHECK(v2(path).pod == kUid);
    const CgroupNames v1 =
        parse_cgroup("12:memory:" + path + "\n1:name=systemd:" + path + "\n0::/\n");
    CHECK(v1.container == kId);
    CHECK(v1.pod == kUid);
    CHECK(v1.path == path);
  }
  CHECK(v2("/kubepods/burstable/pod" + kStaticUid + "/" + kId).pod == kStaticUid);
  // These are a pod's own processes, without a container.
  CHECK(v2("/kubepods/pod" + kUid).pod == kUid);
  CHECK(v2("/kubepods/pod" + kUid).container.empty());
}

TEST_CASE("cgroup: systemd's units, the innermost one") {
  CHECK(v2("/system.slice/nginx.service").unit == "nginx.service");
  CHECK(v2("/system.slice/nginx.service/worker").unit == "nginx.service");
  CHECK(v2("/system.slice/system-getty.slice/getty@tty1.service").unit == "getty@tty1.service");
  CHECK(v2("/user.slice/user-1000.slice/user@1000.service/app.slice/a\\x2db.service").unit ==
        "a\\x2db.service");
  CHECK(v2("/user.slice/user-1000.slice/session-3.scope").unit == "session-3.scope");
  CHECK(v2("/system.slice/docker-" + kId + ".scope/system.slice/cron.service").unit ==
        "cron.service");
  CHECK(v2("/system.slice").unit.empty());
  CHECK(v2("/.service").unit.empty());
  CHECK(v2("/system.slice/gone.service (deleted)").unit == "gone.service");
}

TEST_CASE("cgroup: the innermost container counts, and version 2 before the others") {
  CHECK(v2("/docker/" + kId + "/docker/" + kOther).container == kOther);
  const CgroupNames both =
      parse_cgroup("4:cpu:/docker/" + kOther + "\n1:name=systemd:/a.service\n0::/docker/" + kId);
  CHECK(both.container == kId);
  CHECK(both.unit == "a.service");
  CHECK(both.path == "/docker/" + kId);
}

TEST_CASE("cgroup: what only looks like an ID is none") {
  CHECK(v2("/docker/" + kId.substr(1)).container.empty());
  CHECK(v2("/docker/a" + kId).container.empty());
  CHECK(v2("/docker/" + std::string(64, 'g')).container.empty());
  CHECK(v2("/machine.slice/libpod-conmon-" + kId + ".scope").container.empty());
  CHECK(v2("/system.slice/crio-conmon-" + kId + ".scope").container.empty());
  CHECK(v2("/kubepods/podcast").pod.empty());
  CHECK(v2("/tripod" + kUid).pod.empty());
}

TEST_CASE("cgroup: no path, odd lines and bytes are nothing, or themselves") {
  for (const char* text : {"", "\n", "0::/\n", "0::", "nonsense\n", ":\n", "1:2", ":::::"}) {
    INFO(text);
    const CgroupNames names = parse_cgroup(text);
    CHECK(names.container.empty());
    CHECK(names.unit.empty());
  }
  CHECK(v2("/a\x1b[31m.service").unit == "a\x1b[31m.service");
  CHECK(v2("/a:b:c.service").unit == "a:b:c.service");
  CHECK(v2("//" + std::string(100000, '/') + "x.service").unit == "x.service");
}
