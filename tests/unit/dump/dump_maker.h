// Dumps as the commands make them, for the tests of their output.
#pragma once

#include <cstdint>
#include <string>

#include "cli/dump/process_dump.h"

namespace labelscope::test {

// Makes the process 100, "shop", with one publisher and no threads yet.
cli::ProcessDump make_dump();
// Appends a labelled thread.
ThreadSnapshot& add_thread(cli::ProcessDump& dump, std::int32_t tid, const std::string& name,
                           LabelSet labels);
// Appends a publisher.
void add_publisher(cli::ProcessDump& dump, const std::string& path);

}  // namespace labelscope::test
