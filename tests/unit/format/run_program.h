// Runs other programs: protoc and `go tool pprof` read what the formats wrote.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace labelscope::test {

// Looks in $PATH, and returns nullopt if the program is not there.
std::optional<std::string> find_program(std::string_view name);
// Skips the test if the program is not there.
std::string require_program(std::string_view name);

struct ProgramResult {
  int exit_status = -1;  // -1: ended by a signal
  std::string out;
  std::string err;
};

// Fails the test if the program cannot be started.
ProgramResult run_program(const std::vector<std::string>& arguments, std::string_view input);

// A directory for one test, removed with all that is in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  // Writes a file into the directory and returns its path.
  std::string write(std::string_view name, std::string_view bytes) const;

 private:
  std::string path_;
};

}  // namespace labelscope::test
