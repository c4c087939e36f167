// What heed needs of MPI, as plain functions: the plugin libheed_mpi.so, which alone is linked with MPI, fills the
// table, and heed calls it. Nothing of C++ crosses: no types but these, no exceptions.
//
// One thread at a time calls. Functions that return int return 0 when all went well.
#pragma once

#include <cstdint>

extern "C" {

// A plugin that was built with another layout of the table is refused.
constexpr int kHeedMpiLayout = 1;
constexpr int kHeedMpiAnyRank = -1;
constexpr const char* kHeedMpiTableName = "heed_mpi_table";

struct HeedMpiTable {
  int layout;
  const char* library;  // which MPI, for messages
  void* self;           // the first argument of all functions

  int (*start)(void* self);
  int (*rank)(void* self);
  int (*count)(void* self);
  int (*largest_tag)(void* self);
  // A message on its way is a request, which test() ends. The memory stays until then.
  int (*send)(void* self, const void* bytes, uint64_t size, int to, int tag, void** request);
  int (*receive)(void* self, void* bytes, uint64_t size, int from, int tag, void** request);
  int (*test)(void* self, void** request, int* done);
  // Asks a request to end without its message; test() then tells when it has.
  int (*cancel)(void* self, void** request);
  // Whether a message is there that nothing has received yet. `from` may be any rank.
  int (*probe)(void* self, int from, int tag, int* found, int* source, uint64_t* size);
  int (*finish)(void* self);
  // Ends all processes of the job. Does not return.
  void (*abort)(void* self, int status);
};

using HeedMpiTableFunction = const HeedMpiTable* (*)();

}  // extern "C"
