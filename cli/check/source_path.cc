#include "cli/check/source_path.h"

#include <filesystem>
#include <system_error>

namespace labelscope::cli {
namespace {

// RFC 3986, "unreserved", and the separator. A colon in a first segment would make a scheme of it.
bool stays(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~' || c == '/';
}

}  // namespace

std::string source_path(std::string_view path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (!normal.is_absolute()) return normal.string();
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  if (failed) return normal.string();
  const std::filesystem::path relative = normal.lexically_relative(here);
  if (relative.empty() || *relative.begin() == "..") return normal.string();
  return relative.string();
}

std::string source_uri(std::string_view path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const std::string plain = source_path(path);
  std::string uri = plain.starts_with('/') ? "file://" : "";
  for (const char c : plain) {
    if (stays(c)) {
      uri += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri += '%';
    uri += kHex[byte >> 4];
    uri += kHex[byte & 15];
  }
  return uri;
}

}  // namespace labelscope::cli
