#include "cli/record/naming.h"

#include <cstddef>
#include <string>
#include <utility>

#include "cli/host/log.h"
#include "cli/host/own_process.h"
#include "cli/symbol/symbolizer.h"
#include "cli/text/text.h"
#include "labelscope/stopped_thread.h"

namespace labelscope::cli {
namespace {

// Names of new addresses are asked for so often while it samples: what is left at the end, the user
// waits for.
constexpr std::chrono::milliseconds kBetweenLooks{100};

}  // namespace

FileNamer& Naming::namer() {
  if (!namer_) {
    namer_ = std::make_unique<FileNamer>(FileNamer::Options{
        .debug_folders = options_.debug_folders,
        .debug_information = options_.debug_information,
        .downloading = [this](const std::string& path, std::size_t done, std::size_t all) {
          if (progress_ != nullptr) progress_->fetching(path, done, all);
        }});
  }
  return *namer_;
}

void Naming::look_early(const Recorder& recorder, bool now) {
  if (recorder.in_kernel() && !kernel_.valid()) kernel_ = begin_reading_kernel_symbols();
  const auto time = Clock::now();
  if (has_stuck_ || !looks_early_ || recorder.samples() == 0 || (!now && time < next_early_)) return;
  next_early_ = time + kBetweenLooks;
  is_looking_ = true;
  if (!early_) early_ = std::make_unique<EarlyNames>(namer());
  recorder.show_locations(*early_);
  is_looking_ = false;
}

void Naming::end_early() {
  looks_early_ = false;
  // The thread that finds names may be the one that waits, and has the namer. Both stay.
  if (has_stuck_) {
    static_cast<void>(early_.release());
    release_namer();
  }
  early_.reset();
}

void Naming::release_namer() {
  if (!std::exchange(has_released_, true)) static_cast<void>(namer_.release());
}

void Naming::finish(Profile& profile, const std::vector<ModuleFile>& files, Progress* progress) {
  SymbolizerOptions symbolizing;
  Precedence::own().start_again();
  const int stops_before = signals_.stops();
  symbolizing.cancelled = [this, stops_before] {
    Precedence::own().give_back_after(kMostNamingFirst);
    StoppedThread::settle();  // a thread that stops only now must not wait for names
    signals_.poll();
    return signals_.stops() > stops_before;
  };
  symbolizing.progress = [&](std::size_t done, std::size_t all) {
    if (progress != nullptr) progress->working("Naming addresses:", done, all);
  };
  symbolizing.kernel = kernel_;
  if (has_stuck_) {
    release_namer();
  } else if (early_) {
    early_->finish(symbolizing.cancelled);
    symbolizing.early = &*early_;
    log::verbose("names of " + with_thousands(early_->named()) +
                 " addresses were found while it recorded");
  }
  progress_ = progress;
  if (!looks_early_) namer().refill();
  symbolize(profile, files, namer(), symbolizing);
  progress_ = nullptr;
  if (!namer().not_given_up().empty()) {
    log::verbose("the process that looks at files could not give up all that it should: " +
                 namer().not_given_up());
  }
  given_up_ = signals_.stops() > stops_before;
  if (given_up_)
    log::warning("gave up naming addresses: the files hold numbers for the rest");
}

}  // namespace labelscope::cli
