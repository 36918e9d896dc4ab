// What variables.c calls in variables_scoped.cc.
#pragma once

#ifdef __cplusplus
extern "C"
#endif
    void
    set_scoped(int number);
