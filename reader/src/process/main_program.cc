#include "process/main_program.h"

#include <link.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "elf/elf_image.h"
#include "labelscope/memory.h"
#include "process/link_map.h"

namespace labelscope {
namespace {

// musl's loader is its C library, too.
bool may_be_loader(const Mapping& mapping) {
  const std::string_view name = base_name(mapping.path);
  return name.starts_with("ld-") || name.starts_with("ld.so") || name.starts_with("ld64.so") ||
         name.starts_with("libc.") || name.starts_with("libc-");
}

std::optional<ElfImage> image_of(const Target& target, const Mapping& mapping) {
  auto file = target.open_file(mapping);
  auto image = file ? ElfImage::open(*std::move(file)) : Result<ElfImage>(file.error());
  return image ? std::optional(*std::move(image)) : std::nullopt;
}

// Returns the address of the loader's r_debug: musl has a pointer to it.
std::optional<Address> list_of(const Target& target, const ElfImage& loader, Address bias) {
  const auto itself = loader.find_dynamic_symbol("_r_debug");
  if (itself && *itself && (*itself)->defined) return bias + (*itself)->value;
  const auto pointer = loader.find_dynamic_symbol("_dl_debug_addr");
  if (!pointer || !*pointer || !(*pointer)->defined) return std::nullopt;
  const auto list = read_value<Address>(target.memory(), bias + (*pointer)->value);
  return list ? std::optional(*list) : std::nullopt;
}

// Returns the first entry of the loader's list; nothing if this is no loader, or has no list yet.
std::optional<LoadedLink> program_of_loader(const Target& target, const Mapping& mapping,
                                            Address headers) {
  const auto image = image_of(target, mapping);
  if (!image || image->executable() || !image->program_headers_address()) return std::nullopt;
  const Address bias = headers - *image->program_headers_address();
  const auto list = list_of(target, *image, bias);
  if (!list) return std::nullopt;
  const auto first = read_value<Address>(target.memory(), *list + offsetof(r_debug, r_map));
  if (!first || *first == 0) return std::nullopt;
  const auto link = read_value<LoadedLink>(target.memory(), *first);
  return link ? std::optional(*link) : std::nullopt;
}

}  // namespace

std::optional<Address> main_program_headers(const Target& target,
                                            const std::vector<Mapping>& mappings) {
  const auto headers = target.program_headers_address();
  const Mapping* started = headers ? find_mapping(mappings, *headers) : nullptr;
  if (started == nullptr || !may_be_loader(*started)) return headers;
  const auto link = program_of_loader(target, *started, *headers);
  const Mapping* program = link ? find_mapping(mappings, link->dynamic) : nullptr;
  if (program == nullptr || !program->file) return headers;
  const auto image = image_of(target, *program);
  if (!image || !image->program_headers_address()) return headers;
  return link->bias + *image->program_headers_address();
}

}  // namespace labelscope
