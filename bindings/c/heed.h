/* heed for C, and for every language that can call C: models that translate, write texts and read them, and training.
 *
 * Errors. Each function that can fail returns NULL, or an error that the caller frees. It then has changed nothing that
 * its pointers name. A NULL where a handle, a text or a place for a result must be is an error too. What frees a handle
 * takes NULL and does nothing then.
 *
 * Ownership. Whatever a function puts into a place for a result belongs to the caller, who frees it with the function
 * that its type names: heed_texts_free() for heed_texts*, heed_string_free() for char*. Pointers to const
 * are the exception: they point into the handle that they were asked of, and are valid until that is freed. Nothing
 * that is passed in is kept, but for the callbacks of options.
 *
 * Texts are UTF-8. Going in, a text is a pointer and a length in bytes, or HEED_TERMINATED for a text that ends with a
 * zero byte; an array of texts has an array of lengths beside it, or NULL if all end with a zero byte. Coming out, texts
 * end with a zero byte, and a length is written too where a place for it is given (it may be NULL).
 *
 * Threads. Models, tokenizers and chat formats may be used by any number of threads at once; calls share a model's
 * steps. Options may be read by several calls at once, but not changed meanwhile. Results do not change. Nothing may be
 * freed while another thread uses it. After fork(), the child must not use handles of its parent.
 *
 * The library never prints, exits or handles signals. Functions and constants are never removed or renumbered under one
 * soname (libheed.so.0); options may be added. */
#ifndef HEED_H
#define HEED_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEED_PUBLIC __attribute__((visibility("default")))
#define HEED_CHECKED HEED_PUBLIC __attribute__((warn_unused_result))
#else
#define HEED_PUBLIC
#define HEED_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_TERMINATED SIZE_MAX

HEED_PUBLIC const char* heed_version(void); /* "0.1.0"; valid forever */

/* ---- Errors ---- */

typedef struct heed_error heed_error;

enum heed_error_code {
  HEED_OK = 0,
  HEED_ERROR_ARGUMENT = 1,     /* a NULL, or an index that is too large: a bug in the caller */
  HEED_ERROR_CONFIG = 2,       /* the options ask for something impossible */
  HEED_ERROR_FORMAT = 3,       /* a file or a text does not hold what it should */
  HEED_ERROR_IO = 4,           /* the system refused: no such file, disk full */
  HEED_ERROR_NUMERIC = 5,      /* a computation left the finite numbers */
  HEED_ERROR_DEVICE = 6,       /* a GPU failed, or ran out of memory */
  HEED_ERROR_BUDGET = 7,       /* a budget that the caller set is spent */
  HEED_ERROR_RANK = 8,         /* another process of the job failed */
  HEED_ERROR_SHAPE = 9,        /* operands that do not fit: a bug in heed */
  HEED_ERROR_INTERNAL = 10,    /* a broken invariant: a bug in heed */
  HEED_ERROR_INTERRUPTED = 11, /* a callback or heed_stop ended the call, or its time was up */
  HEED_ERROR_MEMORY = 12,      /* there is no memory left */
  HEED_ERROR_OTHER = 13
};

HEED_PUBLIC int heed_error_code(const heed_error* error); /* HEED_OK for NULL */
HEED_PUBLIC const char* heed_error_message(
    const heed_error* error); /* one line; "" for NULL; lives as the error does */
HEED_PUBLIC void heed_error_free(heed_error* error);

/* Frees texts that a function gave as char*. */
HEED_PUBLIC void heed_string_free(char* text);

/* ---- Options ---- */

/* What a call does differently from the defaults, which are those of the program's commands and, where another program's
 * model has its own for decoding, those. Wherever options are taken, NULL is none.
 *
 * A call refuses options that mean nothing to it, with HEED_ERROR_CONFIG. */
typedef struct heed_options heed_options;

/* i: heed_options_set_int, r: heed_options_set_real, t: heed_options_set_text; +: may be set several times, for several
 * values. i of 0 and 1 is no and yes. */
enum heed_option {
  /* Opening a model */
  HEED_PRECISION = 1,      /* t  "auto", "f32", "bf16" */
  HEED_THREADS = 2,        /* i  0: one per processor */
  HEED_DEVICE = 3,         /* t  "cpu", "cuda", "cuda:1" */
  HEED_CACHE = 4,          /* t  keys and values: "auto", "bf16", "int8" */
  HEED_PREFIX_BYTES = 5,   /* i  a generator's: for what prompts begin with in common */
  HEED_CONTEXT_LENGTH = 6, /* i  tokens that the model takes, if more than its own */
  HEED_ROTARY_SCALING = 7, /* t  "none", "linear", "ntk", "yarn", "llama3" */
  HEED_ENSEMBLE = 8,       /* t+ directories of other models */
  HEED_DRAFT_MODEL = 9,    /* t  drafts come from a smaller model, in this directory, */
  HEED_DRAFT_LAYERS = 10,  /* i  or from so many of the model's own layers, */
  HEED_DRAFT_PROMPT = 11,  /* i  or from the text itself */
  HEED_DRAFT_TOKENS = 12,  /* i  drafted at once; 0: as many as pay */
  HEED_SHORTLIST = 13,     /* t  a translator's: a file of heed shortlist */
  /* Translating, and writing texts */
  HEED_BEAM = 20,               /* i */
  HEED_SAMPLES = 21,            /* i  texts for each prompt, or translations of each line */
  HEED_MAX_TOKENS = 22,         /* i  of a text; for heed_tokenizer_encode(), marks included */
  HEED_MIN_TOKENS = 23,         /* i */
  HEED_NO_REPEAT_NGRAM = 24,    /* i */
  HEED_SUPPRESS = 25,           /* t+ texts that are never written */
  HEED_FORCE = 26,              /* t+ texts that each text contains; needs a beam */
  HEED_REPETITION_PENALTY = 27, /* r */
  HEED_LIST_TOKENS = 28,        /* i  1: results have their tokens */
  HEED_LIKELIEST = 29,          /* i  with these: so many of the likeliest tokens at the place of each */
  /* Calls that wait for a model */
  HEED_TIMEOUT = 40,  /* r  seconds, from the beginning of the call */
  HEED_PRIORITY = 41, /* i  calls with a higher one go first */
  HEED_CLIENT = 42,   /* i  clients take turns */
  /* Translating */
  HEED_LENGTH_PENALTY = 60,   /* r */
  HEED_ALIGNMENTS = 61,       /* i  1: translations have theirs */
  HEED_PREFIX = 62,           /* t+ how translations begin: one for each line */
  HEED_GROUPS = 63,           /* i  that the beam is divided into */
  HEED_DIVERSITY = 64,        /* r */
  HEED_COVERAGE_PENALTY = 65, /* r */
  HEED_PATIENCE = 66,         /* r */
  HEED_EARLY_STOPPING = 67,   /* t  "true", "false", "never" */
  HEED_ALTERNATIVES = 68,     /* i */
  HEED_UNKNOWN_WORDS = 69,    /* t  "keep", "avoid", "copy" */
  HEED_SOURCE_LANGUAGE = 70,  /* t */
  HEED_TARGET_LANGUAGE = 71,  /* t */
  /* Writing texts */
  HEED_TEMPERATURE = 80,       /* r  0: the likeliest token */
  HEED_TOP_K = 81,             /* i */
  HEED_TOP_P = 82,             /* r */
  HEED_MIN_P = 83,             /* r */
  HEED_PRESENCE_PENALTY = 84,  /* r */
  HEED_FREQUENCY_PENALTY = 85, /* r */
  HEED_SEED = 86,              /* i */
  HEED_STOP_TEXT = 87,         /* t+ */
  HEED_TOO_LONG = 88,          /* t  "refuse", "truncate"; for heed_tokenizer_encode() too */
  HEED_REGEX = 89,             /* t  that each text matches */
  HEED_CHOICE = 90,            /* t+ each text is one of these */
  HEED_MARKS = 91,             /* t  "added", or "spelled" for a prompt of heed_chat_prompt() */
  /* Reading texts */
  HEED_POOLING = 110,     /* t  "first", "mean", "max", "last", "mean-sqrt-length" */
  HEED_NORMALIZE = 111,   /* i  1: embeddings of length 1 */
  HEED_PROMPT = 112,      /* t  read before each text */
  HEED_PROMPT_NAME = 113, /* t  the same, by the model's own name for it */
  HEED_GUESSES = 114,     /* i  for each mask */
  HEED_MASK = 115,        /* t  how a mask is written */
  /* Attention */
  HEED_ATTENTION_KIND = 130,  /* t  "encoder", "decoder", "cross" */
  HEED_ATTENTION_LAYER = 131, /* i+ from 0; none: all */
  HEED_ATTENTION_HEAD = 132,  /* i+ from 0; none: all */
  HEED_ATTENTION_NORMS = 133, /* i  1: the lengths of the weighted values too */
  HEED_ATTENTION_SIZE = 134,  /* i  larger maps are made smaller; 0: none is */
  /* heed_tokenizer_encode() */
  HEED_MARK_BEGIN = 150, /* i */
  HEED_MARK_END = 151,   /* i */
  /* heed_train() */
  HEED_SETTING = 170,  /* t+ "table.key=value", in place of the recipe's */
  HEED_RESUME = 171,   /* i  1: goes on with the run that is in the directory */
  HEED_PREPARED = 172, /* t  a folder of heed prepare, in place of the text */
  /* Making models of models */
  HEED_WEIGHT_TYPE = 190,        /* t  as heed quantize and heed export take it */
  HEED_KEEP = 191,               /* t+ "PATTERN=TYPE": another type for the matrices whose names match */
  HEED_GROUP = 192,              /* i  values of int4 that share a scale */
  HEED_CALIBRATION = 193,        /* t  a file of text of the kind that the model reads */
  HEED_CALIBRATION_TARGET = 194, /* t  its translations */
  HEED_FORMAT = 195              /* t  "gguf", "huggingface", "ctranslate2" */
};

HEED_CHECKED heed_error* heed_options_create(heed_options** options);
HEED_PUBLIC void heed_options_free(heed_options* options);
/* HEED_ERROR_CONFIG for an unknown option and for a value of another kind. */
HEED_CHECKED heed_error* heed_options_set_int(heed_options* options, int option, int64_t value);
HEED_CHECKED heed_error* heed_options_set_real(heed_options* options, int option, double value);
HEED_CHECKED heed_error* heed_options_set_text(heed_options* options, int option, const char* text, size_t length);

/* Ends calls from another thread. */
typedef struct heed_stop heed_stop;
HEED_CHECKED heed_error* heed_stop_create(heed_stop** stop);
HEED_CHECKED heed_error* heed_stop_request(heed_stop* stop); /* for good; ends calls between two steps of the model */
HEED_PUBLIC void heed_stop_free(heed_stop* stop);            /* not before the calls that use it have ended */
HEED_CHECKED heed_error* heed_options_set_stop(heed_options* options, heed_stop* stop); /* NULL: none */

/* A token as a model or a tokenizer sees it. */
typedef struct heed_token heed_token;

/* Callbacks hear of texts while they are written, each text's pieces in order. They are called by one thread at a time,
 * which may be writing other callers' texts too: they return soon, call no model, and neither throw nor longjmp. `input`
 * is the number of the line or prompt, `sample` that of its text. All pointers are valid until they return. They return
 * 0 to go on, and anything else to end the call: see heed_translator_translate() and heed_generator_generate(). */
typedef int (*heed_piece_callback)(void* user, size_t input, size_t sample, const char* piece, size_t length);
/* Before the piece that the token's text is in; needs HEED_LIST_TOKENS. */
typedef int (*heed_token_callback)(void* user, size_t input, size_t sample, const heed_token* token);
/* When a text is complete. */
typedef int (*heed_text_callback)(void* user, size_t input, size_t sample, const char* text, size_t length);
/* `user` goes to the callback, unchanged. A callback of NULL: none. */
HEED_CHECKED heed_error* heed_options_on_piece(heed_options* options, heed_piece_callback callback, void* user);
HEED_CHECKED heed_error* heed_options_on_token(heed_options* options, heed_token_callback callback, void* user);
HEED_CHECKED heed_error* heed_options_on_text(heed_options* options, heed_text_callback callback, void* user);

/* As the tokenizer shows it. */
HEED_CHECKED heed_error* heed_token_piece(const heed_token* token, const char** piece, size_t* length);
HEED_CHECKED heed_error* heed_token_id(const heed_token* token, int32_t* id);
HEED_CHECKED heed_error* heed_token_log_probability(const heed_token* token, double* log_probability);
/* Where it begins in its text, in bytes. */
HEED_CHECKED heed_error* heed_token_offset(const heed_token* token, int64_t* offset);
/* With HEED_LIKELIEST: the tokens that were likeliest in its place. */
HEED_CHECKED heed_error* heed_token_likeliest_count(const heed_token* token, size_t* count);
HEED_CHECKED heed_error* heed_token_likeliest(const heed_token* token, size_t index, const heed_token** likely);

/* ---- Texts that were written ---- */

/* For each input, a line or a prompt, its texts, the best first. Freed by heed_texts_free(). */
typedef struct heed_texts heed_texts;

HEED_PUBLIC void heed_texts_free(heed_texts* texts);
HEED_CHECKED heed_error* heed_texts_inputs(const heed_texts* texts, size_t* count);
HEED_CHECKED heed_error* heed_texts_samples(const heed_texts* texts, size_t input, size_t* count);
HEED_CHECKED heed_error* heed_texts_text(const heed_texts* texts, size_t input, size_t sample, const char** text,
                                         size_t* length);
/* For a translation, what the search compares; for a completion, its log-probability. */
HEED_CHECKED heed_error* heed_texts_score(const heed_texts* texts, size_t input, size_t sample, double* score);
HEED_CHECKED heed_error* heed_texts_log_probability(const heed_texts* texts, size_t input, size_t sample,
                                                    double* log_probability);
HEED_CHECKED heed_error* heed_texts_token_count(const heed_texts* texts, size_t input, size_t sample, int64_t* count);
/* Why it ended: "end", "stop", "length", "deadline", "cancelled"; "" for a translation. */
HEED_CHECKED heed_error* heed_texts_reason(const heed_texts* texts, size_t input, size_t sample, const char** reason);
/* With HEED_LIST_TOKENS. */
HEED_CHECKED heed_error* heed_texts_tokens(const heed_texts* texts, size_t input, size_t sample, size_t* count);
HEED_CHECKED heed_error* heed_texts_token(const heed_texts* texts, size_t input, size_t sample, size_t index,
                                          const heed_token** token);
/* With HEED_ALIGNMENTS: `count` pairs, a token of the source and one of the translation each, from 0. */
HEED_CHECKED heed_error* heed_texts_alignment(const heed_texts* texts, size_t input, size_t sample,
                                              const int64_t** pairs, size_t* count);

/* ---- Attention ---- */

/* How much each token of the rows attends to each of the columns, for each layer and head. */
typedef struct heed_attention heed_attention;

HEED_PUBLIC void heed_attention_free(heed_attention* attention);
HEED_CHECKED heed_error* heed_attention_rows(const heed_attention* attention, size_t* count);
HEED_CHECKED heed_error* heed_attention_row(const heed_attention* attention, size_t index, const char** token,
                                            size_t* length);
HEED_CHECKED heed_error* heed_attention_columns(const heed_attention* attention, size_t* count);
HEED_CHECKED heed_error* heed_attention_column(const heed_attention* attention, size_t index, const char** token,
                                               size_t* length);
/* Maps go layer by layer, head by head. */
HEED_CHECKED heed_error* heed_attention_maps(const heed_attention* attention, size_t* count);
HEED_CHECKED heed_error* heed_attention_place(const heed_attention* attention, size_t map, int64_t* layer,
                                              int64_t* head);
/* rows * columns numbers, row by row. As many as there are tokens, unless HEED_ATTENTION_SIZE made the map smaller. */
HEED_CHECKED heed_error* heed_attention_weights(const heed_attention* attention, size_t map, const float** weights,
                                                size_t* rows, size_t* columns);
/* As many; NULL without HEED_ATTENTION_NORMS. */
HEED_CHECKED heed_error* heed_attention_norms(const heed_attention* attention, size_t map, const float** norms);

/* ---- Translation models ---- */

typedef struct heed_translator heed_translator;

HEED_CHECKED heed_error* heed_translator_open(const char* directory, const heed_options* options,
                                              heed_translator** translator);
HEED_PUBLIC void heed_translator_free(heed_translator* translator);
HEED_CHECKED heed_error* heed_translator_max_length(const heed_translator* translator, int64_t* tokens);
HEED_CHECKED heed_error* heed_translator_threads(const heed_translator* translator, int* threads);
/* A call that is ended before all is translated fails with HEED_ERROR_INTERRUPTED. */
HEED_CHECKED heed_error* heed_translator_translate(const heed_translator* translator, const char* const* lines,
                                                   const size_t* lengths, size_t count, const heed_options* options,
                                                   heed_texts** translations);
/* Log-probabilities of given translations, and (or NULL) their tokens: the caller's arrays, of `count` numbers each. */
HEED_CHECKED heed_error* heed_translator_score(const heed_translator* translator, const char* const* sources,
                                               const size_t* source_lengths, const char* const* targets,
                                               const size_t* target_lengths, size_t count, const heed_options* options,
                                               double* log_probabilities, int64_t* tokens);
HEED_CHECKED heed_error* heed_translator_attention(const heed_translator* translator, const char* line,
                                                   size_t line_length, const char* translation,
                                                   size_t translation_length, const heed_options* options,
                                                   heed_attention** attention);

/* ---- Language models ---- */

typedef struct heed_generator heed_generator;

HEED_CHECKED heed_error* heed_generator_open(const char* directory, const heed_options* options,
                                             heed_generator** generator);
HEED_PUBLIC void heed_generator_free(heed_generator* generator);
HEED_CHECKED heed_error* heed_generator_max_length(const heed_generator* generator, int64_t* tokens);
HEED_CHECKED heed_error* heed_generator_threads(const heed_generator* generator, int* threads);
/* A call that is ended gives the texts as they are, with the reason "cancelled" or "deadline"; with a beam above 1 it
 * fails with HEED_ERROR_INTERRUPTED. */
HEED_CHECKED heed_error* heed_generator_generate(const heed_generator* generator, const char* const* prompts,
                                                 const size_t* lengths, size_t count, const heed_options* options,
                                                 heed_texts** completions);
/* As heed_generator_generate() reads the prompt; takes HEED_MARKS and HEED_TOO_LONG. */
HEED_CHECKED heed_error* heed_generator_count_tokens(const heed_generator* generator, const char* prompt, size_t length,
                                                     const heed_options* options, int64_t* count);
HEED_CHECKED heed_error* heed_generator_attention(const heed_generator* generator, const char* prompt, size_t length,
                                                  const heed_options* options, heed_attention** attention);
/* The mean of -log p over the text's tokens, and (or NULL) how many these are. */
HEED_CHECKED heed_error* heed_generator_perplexity(const heed_generator* generator, const char* text, size_t length,
                                                   double* nats_per_token, int64_t* tokens);

/* Conversations, by the model's chat template. */
typedef struct heed_chat heed_chat;

HEED_CHECKED heed_error* heed_chat_open(const char* directory, heed_chat** chat);
HEED_PUBLIC void heed_chat_free(heed_chat* chat);
/* A prompt for HEED_MARKS "spelled", of {"messages": [{"role": "user", "content": "..."}, ...]}. */
HEED_CHECKED heed_error* heed_chat_prompt(const heed_chat* chat, const char* json, size_t json_length, char** prompt,
                                          size_t* length);

/* ---- Models that read texts ---- */

typedef struct heed_encoder heed_encoder;

/* Where `seconds` is not NULL, text i is read with seconds[i], as a pair. */

HEED_CHECKED heed_error* heed_encoder_open(const char* directory, const heed_options* options, heed_encoder** encoder);
HEED_PUBLIC void heed_encoder_free(heed_encoder* encoder);
HEED_CHECKED heed_error* heed_encoder_max_length(const heed_encoder* encoder, int64_t* tokens);
HEED_CHECKED heed_error* heed_encoder_threads(const heed_encoder* encoder, int* threads);
HEED_CHECKED heed_error* heed_encoder_width(const heed_encoder* encoder, size_t* width);
/* Writes count * width numbers, text by text, into the caller's array, which has room for `capacity`. */
HEED_CHECKED heed_error* heed_encoder_embed(const heed_encoder* encoder, const char* const* texts,
                                            const size_t* lengths, const char* const* seconds,
                                            const size_t* second_lengths, size_t count, const heed_options* options,
                                            float* embeddings, size_t capacity);

/* What a model says of texts, or of the words of texts. Freed by heed_labels_free(). */
typedef struct heed_labels heed_labels;

HEED_CHECKED heed_error* heed_encoder_classify(const heed_encoder* encoder, const char* const* texts,
                                               const size_t* lengths, const char* const* seconds,
                                               const size_t* second_lengths, size_t count, const heed_options* options,
                                               heed_labels** labels);
/* The words of all texts, one after the other; word_counts[i] of them are text i. */
HEED_CHECKED heed_error* heed_encoder_tag(const heed_encoder* encoder, const char* const* words, const size_t* lengths,
                                          const size_t* word_counts, size_t count, const heed_options* options,
                                          heed_labels** labels);
HEED_CHECKED heed_error* heed_encoder_attention(const heed_encoder* encoder, const char* text, size_t length,
                                                const heed_options* options, heed_attention** attention);

HEED_PUBLIC void heed_labels_free(heed_labels* labels);
HEED_CHECKED heed_error* heed_labels_texts(const heed_labels* labels, size_t* count);
HEED_CHECKED heed_error* heed_labels_words(const heed_labels* labels, size_t text, size_t* count); /* classify: 1 */
/* The labels that were chosen: mostly one; any number, none too, where a text may have several. */
HEED_CHECKED heed_error* heed_labels_chosen(const heed_labels* labels, size_t text, size_t word, size_t* count);
HEED_CHECKED heed_error* heed_labels_label(const heed_labels* labels, size_t text, size_t word, size_t index,
                                           const char** label, size_t* length);
/* All labels that the model knows, in its order, with their probabilities. */
HEED_CHECKED heed_error* heed_labels_scores(const heed_labels* labels, size_t text, size_t word, size_t* count);
HEED_CHECKED heed_error* heed_labels_score(const heed_labels* labels, size_t text, size_t word, size_t index,
                                           const char** label, size_t* length, double* probability);
/* From models that give a number. */
HEED_CHECKED heed_error* heed_labels_number(const heed_labels* labels, size_t text, size_t word, double* number);

/* Guesses for masked words. Freed by heed_guesses_free(). */
typedef struct heed_guesses heed_guesses;

HEED_CHECKED heed_error* heed_encoder_fill(const heed_encoder* encoder, const char* const* texts, const size_t* lengths,
                                           size_t count, const heed_options* options, heed_guesses** guesses);
HEED_PUBLIC void heed_guesses_free(heed_guesses* guesses);
HEED_CHECKED heed_error* heed_guesses_texts(const heed_guesses* guesses, size_t* count);
/* With the likeliest token for each mask. */
HEED_CHECKED heed_error* heed_guesses_text(const heed_guesses* guesses, size_t text, const char** filled,
                                           size_t* length);
HEED_CHECKED heed_error* heed_guesses_masks(const heed_guesses* guesses, size_t text, size_t* count);
HEED_CHECKED heed_error* heed_guesses_count(const heed_guesses* guesses, size_t text, size_t mask, size_t* count);
/* The likeliest first. */
HEED_CHECKED heed_error* heed_guesses_guess(const heed_guesses* guesses, size_t text, size_t mask, size_t index,
                                            const char** token, size_t* length, int32_t* id, double* probability);

/* ---- Tokenizers ---- */

typedef struct heed_tokenizer heed_tokenizer;

HEED_CHECKED heed_error* heed_tokenizer_open(const char* path, heed_tokenizer** tokenizer);
HEED_PUBLIC void heed_tokenizer_free(heed_tokenizer* tokenizer);
HEED_CHECKED heed_error* heed_tokenizer_size(const heed_tokenizer* tokenizer, int64_t* tokens);
/* Freed by heed_ids_free(). */
HEED_CHECKED heed_error* heed_tokenizer_encode(const heed_tokenizer* tokenizer, const char* text, size_t length,
                                               const heed_options* options, int32_t** ids, size_t* count);
HEED_PUBLIC void heed_ids_free(int32_t* ids);
HEED_CHECKED heed_error* heed_tokenizer_decode(const heed_tokenizer* tokenizer, const int32_t* ids, size_t count,
                                               char** text, size_t* length);
/* A token in readable form, without white space, and back. */
HEED_CHECKED heed_error* heed_tokenizer_piece(const heed_tokenizer* tokenizer, int32_t id, char** piece,
                                              size_t* length);
HEED_CHECKED heed_error* heed_tokenizer_id(const heed_tokenizer* tokenizer, const char* piece, size_t length,
                                           int32_t* id);

/* ---- Training, and making models of models ---- */

/* Figures by name, and texts: of an event of a training, or of what a function made. */
typedef struct heed_record heed_record;

HEED_PUBLIC void heed_record_free(heed_record* record); /* of what a function made, not of events */
HEED_CHECKED heed_error* heed_record_kind(const heed_record* record, const char** kind);
HEED_CHECKED heed_error* heed_record_figures(const heed_record* record, size_t* count);
HEED_CHECKED heed_error* heed_record_figure(const heed_record* record, size_t index, const char** name, double* value);
/* HEED_ERROR_ARGUMENT where it has no figure of that name. */
HEED_CHECKED heed_error* heed_record_value(const heed_record* record, const char* name, double* value);
HEED_CHECKED heed_error* heed_record_texts(const heed_record* record, size_t* count);
HEED_CHECKED heed_error* heed_record_text(const heed_record* record, size_t index, const char** text, size_t* length);

/* Events come on the thread that called heed_train(). Returns 0 to go on, and anything else to end the training after
 * this update. Kinds and their figures:
 *   "message"     a text
 *   "start"       the text is read and the model built: from here on there is something to save
 *   "train"       update, epoch, loss, negative_log_likelihood, learning_rate, gradient_norm, tokens_per_second,
 *                 seconds, fraction
 *   "validation"  update, loss, seconds, best (1 or 0), and what the task measures: bleu, bits_per_byte, accuracy ... */
typedef int (*heed_event_callback)(void* user, const heed_record* event);
HEED_CHECKED heed_error* heed_options_on_event(heed_options* options, heed_event_callback callback, void* user);

/* These write a model to a directory, or to the file that GGUF is. `made` may be NULL. */

/* As the recipe, a file, says. A training that is ended, by its callback, heed_stop or HEED_TIMEOUT, has saved its state:
 * with HEED_RESUME the same call goes on, to the bits that it would have reached. `made` has the figure `parameters`, and
 * why the training ended: "epochs", "updates", "minutes", "patience", "stopped". */
HEED_CHECKED heed_error* heed_train(const char* recipe, const char* directory, const heed_options* options,
                                    heed_record** made);
/* A model directory of another program's model. Figures: tensors, bytes; texts: the family, and what was passed over. */
HEED_CHECKED heed_error* heed_import(const char* source, const char* directory, const heed_options* options,
                                     heed_record** made);
/* A model in another program's format. Figures: tensors, bytes; text: the family that was written. */
HEED_CHECKED heed_error* heed_export(const char* model, const char* path, const heed_options* options,
                                     heed_record** made);
/* A smaller model. Figures: matrices, bytes_before, bytes_after, signal_to_noise (in decibels). */
HEED_CHECKED heed_error* heed_quantize(const char* model, const char* directory, const heed_options* options,
                                       heed_record** made);

#ifdef __cplusplus
}
#endif

#endif
