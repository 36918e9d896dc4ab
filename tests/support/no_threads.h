// While an object of this class exists, no thread can be started in this process: it would have a
// stack that no address space has room for. A limit of the address space would not do, because
// glibc keeps stacks of threads that have ended, and a new thread takes one of these.
#pragma once

#include <pthread.h>

#include <cstddef>

#include "support/catch.h"

class NoThreads {
 public:
  NoThreads() {
    REQUIRE(::pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t huge;
    REQUIRE(::pthread_attr_init(&huge) == 0);
    REQUIRE(::pthread_attr_setstacksize(&huge, std::size_t{1} << 60) == 0);
    REQUIRE(::pthread_setattr_default_np(&huge) == 0);
    ::pthread_attr_destroy(&huge);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};
