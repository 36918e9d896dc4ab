// How code reaches a thread-local variable ("ELF Handling For Thread-Local Storage"), as planning
// found it in a process.
#pragma once

#include <string_view>

namespace labelscope {

enum class AccessModel {
  kLocalExec,       // main executable: a constant of the linker
  kInitialExec,     // offset from the thread pointer in a GOT slot
  kTlsDescStatic,   // TLS descriptor whose argument is that offset
  kTlsDescDynamic,  // TLS descriptor that leads to {module ID, offset}
  kGeneralDynamic,  // {module ID, offset} in two GOT slots
  kLinkMap,         // no usable relocation: what the loader recorded about the module
  kUnresolved,      // not known, or not known yet
};
std::string_view access_model_name(AccessModel model);

}  // namespace labelscope
