// Replaces libFuzzer: it runs a fuzzer's function over files, and over the files of folders. It
// ignores the options of libFuzzer, and fails if there is nothing to run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

bool run_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) return false;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int runs = 0;
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') continue;
    std::error_code error;
    if (!std::filesystem::is_directory(argv[i], error)) {
      runs += run_file(argv[i]) ? 1 : 0;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i], error)) {
      runs += run_file(entry.path()) ? 1 : 0;
    }
  }
  std::printf("%d inputs\n", runs);
  return runs == 0 ? 1 : 0;
}
