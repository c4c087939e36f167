/* What the examples do about errors: they print them and end. */
#ifndef HEED_EXAMPLES_CHECK_H
#define HEED_EXAMPLES_CHECK_H

#include <heed.h>
#include <stdio.h>
#include <stdlib.h>

static void check(heed_error* error) {
  if (error != NULL) {
    fprintf(stderr, "error %d: %s\n", heed_error_code(error), heed_error_message(error));
    heed_error_free(error);
    exit(1);
  }
}

#endif
