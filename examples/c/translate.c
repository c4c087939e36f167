/* translate MODEL < lines: translates line by line, and shows each score and what the first word attends to.
 *
 * cc translate.c $(pkg-config --cflags --libs heed) */
#include <string.h>

#include "check.h"

/* The source's token that the first token of the translation attends to most, in layer 0, head 0. */
static void show_attention(const heed_translator* translator, const char* line, const char* translation) {
  heed_options* options;
  heed_attention* attention;
  const char* token;
  const float* weights;
  size_t rows, columns, column, best = 0;

  check(heed_options_create(&options));
  check(heed_options_set_int(options, HEED_ATTENTION_LAYER, 0));
  check(heed_options_set_int(options, HEED_ATTENTION_HEAD, 0));
  check(heed_translator_attention(translator, line, HEED_TERMINATED, translation, HEED_TERMINATED, options, &attention));
  check(heed_attention_weights(attention, 0, &weights, &rows, &columns));
  for (column = 1; column < columns; ++column) {
    if (weights[column] > weights[best]) {
      best = column;
    }
  }
  check(heed_attention_column(attention, best, &token, NULL));
  printf("  from %s (%.2f)\n", token, (double)weights[best]);
  heed_attention_free(attention);
  heed_options_free(options);
}

int main(int count, char** arguments) {
  heed_translator* translator;
  heed_options* options;
  char line[4096];

  check(heed_translator_open(count > 1 ? arguments[1] : "model", NULL, &translator));
  check(heed_options_create(&options));
  check(heed_options_set_int(options, HEED_BEAM, 4));
  while (fgets(line, sizeof line, stdin) != NULL) {
    const char* const lines[] = {line};
    heed_texts* translations;
    const char* text;
    double score;

    line[strcspn(line, "\n")] = '\0';
    check(heed_translator_translate(translator, lines, NULL, 1, options, &translations));
    check(heed_texts_text(translations, 0, 0, &text, NULL));
    check(heed_texts_score(translations, 0, 0, &score));
    printf("%s\n  score %.4f\n", text, score);
    show_attention(translator, line, text);
    heed_texts_free(translations);
  }
  heed_options_free(options);
  heed_translator_free(translator);
  return 0;
}
