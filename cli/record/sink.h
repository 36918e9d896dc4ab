// Where the windows of a session go: files (file_sink.h), or something else that is open before the
// rights for it go.
//
//   begin()              the session has found its targets, and has all its rights still
//   ... rights go ...    no file of others and no privileged socket can be opened from here on
//   take(), take()       each window, complete in itself
//   end()                no more windows come
#pragma once

#include <cstddef>
#include <string>

#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// A part of a session in time, which has all that it refers to.
struct Window {
  const Profile& profile;  // all of it, for recordings
  const Profile& shown;    // without what the user does not want to see
};

class Sink {
 public:
  virtual ~Sink() = default;

  // Opens what it needs. `base_name`: of the targets, safe in a file name. The error has the whole
  // message, escaped. It is kUnsupported for wrong usage, of which no other state of the system
  // would make something else.
  virtual Status begin(const std::string& base_name) = 0;
  // Whether what it has opened can be given its name without the rights of now.
  virtual bool can_be_named() const { return true; }
  // How many samples it wants with their time.
  virtual std::size_t timed_samples() const { return 0; }
  virtual Status take(const Window& window) = 0;
  virtual Status end() { return {}; }
  // labelscope ends while a thread of it waits for ever: drops what is not complete.
  virtual void abandon() {}
};

}  // namespace labelscope::cli
