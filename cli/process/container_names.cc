// Both files are JSON that their engine has written, and their names are chosen by users.
#include "cli/process/container_names.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "elf/regular_file.h"

namespace labelscope::cli {
namespace {

constexpr std::size_t kMostEngineFile = std::size_t{16} << 20;

// The name in the file of a container, which its owner has chosen.
std::string docker_name(const std::string& text) {
  const auto state = nlohmann::json::parse(text, nullptr, false);
  if (!state.is_object()) return {};
  const auto name = state.find("Name");
  if (name == state.end() || !name->is_string()) return {};
  std::string value = name->get<std::string>();
  return value.starts_with('/') ? value.substr(1) : value;
}

std::map<std::string, std::string> podman_names(const std::string& text) {
  std::map<std::string, std::string> names;
  const auto state = nlohmann::json::parse(text, nullptr, false);
  if (!state.is_array()) return names;
  for (const auto& one : state) {
    if (!one.is_object()) continue;
    const auto id = one.find("id");
    const auto all = one.find("names");
    if (id == one.end() || !id->is_string() || all == one.end() || !all->is_array()) continue;
    if (!all->empty() && all->front().is_string()) {
      names[id->get<std::string>()] = all->front().get<std::string>();
    }
  }
  return names;
}

// No engine makes anything but a regular file, but who may write there can.
Result<std::string> read_state(const std::string& path) {
  auto file = open_regular_file(path);
  if (!file) return std::move(file).error();
  return read_up_to(*file, kMostEngineFile);
}

}  // namespace

const std::string& ContainerNames::name_of(const std::string& id) {
  if (const auto known = names_.find(id); known != names_.end()) return known->second;
  std::string name;
  std::string refused;
  // The ID has hexadecimal digits only, so it does not lead to another folder.
  const auto docker = read_state(docker_ + "/" + id + "/config.v2.json");
  if (docker) name = docker_name(*docker);
  if (!docker && docker.error().code == ErrorCode::kPermission) refused = docker_;
  if (name.empty()) {
    const auto podman = read_state(podman_ + "/containers.json");
    if (podman) name = podman_names(*podman)[id];
    if (!podman && podman.error().code == ErrorCode::kPermission) refused = podman_;
  }
  if (name.empty() && !refused.empty()) refused_ = refused + " may not be read";
  return names_[id] = name;
}

}  // namespace labelscope::cli
