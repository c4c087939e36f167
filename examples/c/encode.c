/* encode MODEL TEXT TEXT...: how alike the first text and each of the others are. */
#include "check.h"

int main(int count, char** arguments) {
  const char* const* texts = (const char* const*)arguments + 2;
  const size_t text_count = count > 2 ? (size_t)count - 2 : 0;
  heed_encoder* encoder;
  heed_options* options;
  float* embeddings;
  size_t width, i, k;

  check(heed_encoder_open(count > 1 ? arguments[1] : "model", NULL, &encoder));
  check(heed_options_create(&options));
  check(heed_options_set_int(options, HEED_NORMALIZE, 1));
  check(heed_encoder_width(encoder, &width));
  embeddings = malloc(text_count * width * sizeof *embeddings + 1);
  check(heed_encoder_embed(encoder, texts, NULL, NULL, NULL, text_count, options, embeddings, text_count * width));
  for (i = 1; i < text_count; ++i) {
    double product = 0.0;
    for (k = 0; k < width; ++k) {
      product += (double)embeddings[k] * (double)embeddings[i * width + k];
    }
    printf("%.4f  %s\n", product, texts[i]);
  }
  free(embeddings);
  heed_options_free(options);
  heed_encoder_free(encoder);
  return 0;
}
