// Preloaded into llama.cpp's runtime, which starts new threads for every token: puts each of them on a processor of its
// own. Left to itself, the system often puts two on one, where they spin at each other.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

static cpu_set_t allowed;
static int processors;
static unsigned started;

__attribute__((constructor)) static void read_allowed(void) {
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    processors = CPU_COUNT(&allowed);
  }
}

// The index-th of the processors that this process may use.
static cpu_set_t one_processor(int index) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && index-- == 0) {
      CPU_SET(cpu, &one);
    }
  }
  return one;
}

static int is_called_by_ggml(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, "libggml-cpu") != NULL;
}

// The thread that starts others computes too: it stays on the first processor, and they go round the rest.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  typedef int (*Create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Create create;
  if (create == NULL) {
    create = (Create)dlsym(RTLD_NEXT, "pthread_create");
  }
  if (processors < 2 || attributes != NULL || !is_called_by_ggml(__builtin_return_address(0))) {
    return create(thread, attributes, run, argument);
  }
  const cpu_set_t first = one_processor(0);
  pthread_setaffinity_np(pthread_self(), sizeof(first), &first);
  const unsigned turn = __atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
  const cpu_set_t own = one_processor(1 + (int)(turn % (unsigned)(processors - 1)));
  pthread_attr_t pinned;
  pthread_attr_init(&pinned);
  pthread_attr_setaffinity_np(&pinned, sizeof(own), &own);
  const int result = create(thread, &pinned, run, argument);
  pthread_attr_destroy(&pinned);
  return result;
}
