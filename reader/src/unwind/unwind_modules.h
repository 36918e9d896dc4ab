// What libdwfl is told of a process: its modules, each with its call frame information as a file in
// memory (call_frame_image.h). Found and parsed before any thread is held.
#pragma once

#include <elfutils/libdwfl.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "process/modules.h"
#include "unwind/call_frame_image.h"

namespace labelscope {

class UnwindModules {
 public:
  // By the identity of their files, null where one cannot be used. Shared by processes that run the
  // same files, and used on one thread.
  using Images = std::map<FileId, std::shared_ptr<CallFrameImage>>;

  explicit UnwindModules(std::shared_ptr<Images> images) : images_(std::move(images)) {}

  // Everything that is mapped now.
  Status load(const Target& target);
  Dwfl* dwfl() const { return dwfl_.get(); }
  // Whether it is in an executable mapping.
  bool is_code(Address address) const;
  // A return address without its signature (frame_instructions.h), if it has one; else what was given.
  Address unsigned_code(Address value) const;
  const std::shared_ptr<Images>& images() const { return images_; }

 private:
  struct DwflCloser {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  // An image where it is mapped.
  struct Mapped {
    std::shared_ptr<CallFrameImage> image;
    Address start = 0;  // as libdwfl counts (CallFrameImage::first_page)
    Address end = 0;
  };
  using ByName = std::map<std::string, Mapped>;  // the name that libdwfl knows it by
  struct Range {
    Address start;
    Address end;
  };

  static std::string name_of(const char* source, const FileId& file, const Range& range);
  static int find_image(Dwfl_Module* module, void** mapped, const char* name, Dwarf_Addr base,
                        char** file_name, Elf** elf);
  Status open_dwfl();
  void note_code(const std::vector<Mapping>& mappings);
  std::shared_ptr<CallFrameImage> image_of(const Target& target, const Module& module,
                                           const std::vector<Mapping>& mappings);
  void add_files(const Target& target, const std::vector<Mapping>& mappings);
  void add_from_memory(const Target& target, const std::vector<Mapping>& mappings,
                       const ByName& before);
  bool covers(Address address) const;
  bool takes(const CallFrameImage& image) const;
  void report();

  std::shared_ptr<Images> images_;
  ByName modules_;
  std::vector<Range> code_;                 // sorted
  Address code_mask_ = 0;                   // the bits that addresses of code have
  std::unique_ptr<Dwfl, DwflCloser> dwfl_;  // destroyed before the modules, to which it refers
};

std::string hex_address(Address address);

}  // namespace labelscope
