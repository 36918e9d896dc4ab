// Input and output go through files, since a full pipe could block either side.
#include "unit/format/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "support/catch.h"

namespace labelscope::test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<std::string> find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = folder + '/' + std::string(name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

std::string require_program(std::string_view name) {
  std::optional<std::string> found = find_program(name);
  if (!found) skip_test("no " + std::string(name) + " in $PATH");
  return *found;
}

ProgramResult run_program(const std::vector<std::string>& arguments, std::string_view input) {
  const TempDir folder;
  const std::string in = folder.write("in", input);
  const std::string out = folder.path() + "/out";
  const std::string err = folder.path() + "/err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), kWrite, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), kWrite, 0600);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failure = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  INFO(arguments[0]);
  REQUIRE(failure == 0);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

TempDir::TempDir() {
  path_ = (std::filesystem::temp_directory_path() / "labelscope-format-XXXXXX").string();
  REQUIRE(mkdtemp(path_.data()) != nullptr);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::write(std::string_view name, std::string_view bytes) const {
  std::string path = path_ + '/' + std::string(name);
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  file.close();
  REQUIRE(file);
  return path;
}

}  // namespace labelscope::test
