#include "cruntime.h"

__thread struct cr_thread cr_this_thread;
