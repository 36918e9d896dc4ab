// What a plan is to C: publishers by index, and everything that was found in one list.
#pragma once

#include <string>
#include <vector>

#include "labelscope/finding.h"
#include "labelscope/labelscope.h"
#include "labelscope/plan.h"

struct ls_plan {
  struct ModuleFinding {
    std::size_t publisher = LS_NO_PUBLISHER;
    std::string path;
    labelscope::Finding finding;
  };
  labelscope::ProcessPlan plan;
  std::vector<ls_tls_recipe> recipes;  // of plan.publishers, as observe() wants them
  std::vector<ModuleFinding> findings;
  std::string absence;
  bool may_miss_publisher = false;  // core_snapshot.h
  std::string program;              // of a process: LiveProcess::program() when it was made
};
