/* heed for Node, as far as translate.mjs needs it: open(directory) gives a model, and translate(model, line) a Promise,
 * while Node goes on.
 *
 * cc -shared -fPIC -I/usr/include/node heed.c -o heed.node $(pkg-config --cflags --libs heed) */
#include <heed.h>
#include <node_api.h>
#include <stdlib.h>

/* One call on its way: a thread of Node's translates, then Node's own thread answers. */
typedef struct {
  napi_async_work work;
  napi_deferred promise;
  napi_ref model; /* keeps it alive meanwhile */
  const heed_translator* translator;
  char* line;
  size_t length;
  heed_texts* texts;
  heed_error* error;
} call;

static napi_value error_of(napi_env env, heed_error* failed) {
  napi_value message, error;
  napi_create_string_utf8(env, heed_error_message(failed), NAPI_AUTO_LENGTH, &message);
  napi_create_error(env, NULL, message, &error);
  heed_error_free(failed);
  return error;
}

/* A text that JavaScript gave, which the caller frees; NULL, with an exception, for anything else. */
static char* text_of(napi_env env, napi_value value, size_t* length) {
  char* text;
  if (napi_get_value_string_utf8(env, value, NULL, 0, length) != napi_ok) {
    napi_throw_type_error(env, NULL, "expected a string");
    return NULL;
  }
  text = malloc(*length + 1);
  if (text == NULL) {
    napi_throw_error(env, NULL, "no memory");
  } else {
    napi_get_value_string_utf8(env, value, text, *length + 1, length);
  }
  return text;
}

static void forget_model(napi_env env, void* translator, void* hint) {
  (void)env;
  (void)hint;
  heed_translator_free(translator);
}

static napi_value open_model(napi_env env, napi_callback_info info) {
  size_t count = 1, length;
  napi_value given[1], model = NULL;
  heed_translator* translator;
  heed_error* failed;
  char* directory;

  napi_get_cb_info(env, info, &count, given, NULL, NULL);
  directory = text_of(env, given[0], &length);
  if (directory == NULL) {
    return NULL;
  }
  failed = heed_translator_open(directory, NULL, &translator);
  free(directory);
  if (failed != NULL) {
    napi_throw(env, error_of(env, failed));
    return NULL;
  }
  napi_create_external(env, translator, forget_model, NULL, &model);
  return model;
}

static void translate_on_a_thread(napi_env env, void* data) {
  call* one = data;
  const char* const lines[] = {one->line};
  (void)env;
  one->error = heed_translator_translate(one->translator, lines, &one->length, 1, NULL, &one->texts);
}

static void answer(napi_env env, napi_status status, void* data) {
  call* one = data;
  napi_value value;
  const char* text;
  size_t length;
  (void)status;
  if (one->error == NULL) {
    one->error = heed_texts_text(one->texts, 0, 0, &text, &length);
  }
  if (one->error != NULL) {
    napi_reject_deferred(env, one->promise, error_of(env, one->error));
  } else {
    napi_create_string_utf8(env, text, length, &value);
    napi_resolve_deferred(env, one->promise, value);
  }
  heed_texts_free(one->texts);
  napi_delete_reference(env, one->model);
  napi_delete_async_work(env, one->work);
  free(one->line);
  free(one);
}

static napi_value translate(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value given[2], name, promise = NULL;
  void* translator;
  call* one;

  napi_get_cb_info(env, info, &count, given, NULL, NULL);
  if (napi_get_value_external(env, given[0], &translator) != napi_ok) {
    napi_throw_type_error(env, NULL, "expected a model of open()");
    return NULL;
  }
  one = calloc(1, sizeof *one);
  if (one == NULL || (one->line = text_of(env, given[1], &one->length)) == NULL) {
    free(one);
    return NULL;
  }
  one->translator = translator;
  napi_create_reference(env, given[0], 1, &one->model);
  napi_create_promise(env, &one->promise, &promise);
  napi_create_string_utf8(env, "heed.translate", NAPI_AUTO_LENGTH, &name);
  napi_create_async_work(env, NULL, name, translate_on_a_thread, answer, one, &one->work);
  napi_queue_async_work(env, one->work);
  return promise;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor functions[] = {
      {"open", NULL, open_model, NULL, NULL, NULL, napi_default, NULL},
      {"translate", NULL, translate, NULL, NULL, NULL, napi_default, NULL},
  };
  napi_define_properties(env, exports, 2, functions);
  return exports;
}
