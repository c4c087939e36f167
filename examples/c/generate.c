/* generate MODEL PROMPT [TOKENS]: prints a text while it is written, and stops after 200 bytes. */
#include <string.h>

#include "check.h"

static int print_piece(void* user, size_t prompt, size_t sample, const char* piece, size_t length) {
  size_t* written = user;
  (void)prompt;
  (void)sample;
  fwrite(piece, 1, length, stdout);
  fflush(stdout);
  *written += length;
  return *written > 200; /* anything but 0 ends the call */
}

int main(int count, char** arguments) {
  const char* const prompts[] = {count > 2 ? arguments[2] : ""};
  heed_generator* generator;
  heed_options* options;
  heed_texts* completions;
  const char* reason;
  size_t written = 0;

  check(heed_generator_open(count > 1 ? arguments[1] : "model", NULL, &generator));
  check(heed_options_create(&options));
  check(heed_options_set_real(options, HEED_TEMPERATURE, 0.8));
  check(heed_options_set_int(options, HEED_SEED, 1));
  check(heed_options_set_int(options, HEED_MAX_TOKENS, count > 3 ? atol(arguments[3]) : 1000));
  check(heed_options_on_piece(options, print_piece, &written));
  check(heed_generator_generate(generator, prompts, NULL, 1, options, &completions));
  check(heed_texts_reason(completions, 0, 0, &reason));
  printf("\n(%s)\n", reason);
  heed_texts_free(completions);
  heed_options_free(options);
  heed_generator_free(generator);
  return 0;
}
