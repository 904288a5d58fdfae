/* liblinked_lazy.c: see liblinked_now.c. */
#include "liblinked_now.c"
