// The names that docker and podman have given to containers, from the files in which they keep
// them.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace labelscope::cli {

class ContainerNames {
 public:
  // The folders of the containers of docker and of podman.
  ContainerNames(std::string docker, std::string podman)
      : docker_(std::move(docker)), podman_(std::move(podman)) {}

  // Returns the name of the container with this ID of 64 hexadecimal digits; empty: it is not
  // known. The answer is kept.
  const std::string& name_of(const std::string& id);
  // Returns why some names are not known; empty: no file was refused.
  const std::string& refused() const { return refused_; }

 private:
  std::string docker_;
  std::string podman_;
  std::map<std::string, std::string> names_;  // by ID
  std::string refused_;
};

}  // namespace labelscope::cli
