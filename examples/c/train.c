/* train RECIPE DIRECTORY LOSS [resume]: trains until a validation's loss is below LOSS, and shows the figures. A training
 * that ended there goes on with "resume". Then DIRECTORY.int8 gets a smaller model. */
#include <string.h>

#include "check.h"

static int show(void* user, const heed_record* event) {
  const double wanted = *(const double*)user;
  const char* kind;
  const char* name;
  double value;
  size_t count, i;
  int is_good = 0;

  check(heed_record_kind(event, &kind));
  if (strcmp(kind, "validation") == 0) {
    check(heed_record_value(event, "loss", &value));
    is_good = value < wanted;
  }
  check(heed_record_figures(event, &count));
  printf("%s:", kind);
  for (i = 0; i < count; ++i) {
    check(heed_record_figure(event, i, &name, &value));
    printf(" %s %g", name, value);
  }
  printf("\n");
  return is_good; /* anything but 0 ends the training, which has saved its state then */
}

int main(int count, char** arguments) {
  const char* const directory = count > 2 ? arguments[2] : "model";
  double wanted = count > 3 ? atof(arguments[3]) : 0.0;
  heed_options* options;
  heed_record* made;
  const char* reason;
  double before, after;
  char small[4096];

  check(heed_options_create(&options));
  check(heed_options_set_int(options, HEED_RESUME, count > 4));
  check(heed_options_on_event(options, show, &wanted));
  check(heed_train(count > 1 ? arguments[1] : "recipe.toml", directory, options, &made));
  check(heed_record_text(made, 0, &reason, NULL));
  printf("ended by %s\n", reason);
  heed_options_free(options);
  if (strcmp(reason, "stopped") != 0) {
    snprintf(small, sizeof small, "%s.int8", directory);
    heed_record_free(made);
    check(heed_quantize(directory, small, NULL, &made));
    check(heed_record_value(made, "bytes_before", &before));
    check(heed_record_value(made, "bytes_after", &after));
    printf("%.0f bytes instead of %.0f in %s\n", after, before, small);
  }
  heed_record_free(made);
  return 0;
}
