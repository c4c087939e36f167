// The plugin libheed_mpi.so: heed's table of functions, over MPI.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <climits>
#include <cstdint>
#include <cstdlib>

#include "ranks/mpi/mpi_table.h"

namespace {

// A count in MPI is an int: larger messages are counted in blocks, with the rest as a second block of bytes.
constexpr uint64_t kLargestCount = uint64_t{1} << 30;
constexpr uint64_t kBlock = uint64_t{1} << 20;

MPI_Request* as_mpi(void** request) {
  static_assert(sizeof(MPI_Request) <= sizeof(void*));
  return reinterpret_cast<MPI_Request*>(request);
}

// Calls `transfer(count, type)` for `size` bytes.
template <class Transfer>
int with_count(uint64_t size, Transfer transfer) {
  if (size <= kLargestCount) {
    return transfer(static_cast<int>(size), MPI_BYTE);
  }
  MPI_Datatype block = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
  int status = MPI_Type_contiguous(static_cast<int>(kBlock), MPI_BYTE, &block);
  const uint64_t blocks = size / kBlock;
  const int lengths[] = {static_cast<int>(blocks), static_cast<int>(size % kBlock)};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(blocks * kBlock)};
  const MPI_Datatype types[] = {block, MPI_BYTE};
  status = status != 0 ? status : MPI_Type_create_struct(2, lengths, places, types, &type);
  status = status != 0 ? status : MPI_Type_commit(&type);
  status = status != 0 ? status : transfer(1, type);
  if (type != MPI_DATATYPE_NULL) {
    MPI_Type_free(&type);  // a transfer that uses it keeps it
  }
  if (block != MPI_DATATYPE_NULL) {
    MPI_Type_free(&block);
  }
  return status;
}

// Open MPI asks the receiver before a long message leaves. On a single TCP connection the answer waits behind the messages
// that go the other way, and a link that is busy in both directions stands still for a fifth of the time. What the user
// has set stays.
void use_two_connections() { setenv("OMPI_MCA_btl_tcp_links", "2", 0); }

int start(void* /*self*/) {
  use_two_connections();
  int provided = 0;
  const int status = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (status != MPI_SUCCESS) {
    return status;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return provided >= MPI_THREAD_SERIALIZED ? 0 : MPI_ERR_OTHER;
}

int rank(void* /*self*/) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int count(void* /*self*/) {
  int count = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

int largest_tag(void* /*self*/) {
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &found);
  return found != 0 ? *static_cast<int*>(value) : SHRT_MAX;  // what the standard guarantees
}

int send(void* /*self*/, const void* bytes, uint64_t size, int to, int tag, void** request) {
  return with_count(size, [=](int count, MPI_Datatype type) {
    return MPI_Isend(bytes, count, type, to, tag, MPI_COMM_WORLD, as_mpi(request));
  });
}

int receive(void* /*self*/, void* bytes, uint64_t size, int from, int tag, void** request) {
  return with_count(size, [=](int count, MPI_Datatype type) {
    return MPI_Irecv(bytes, count, type, from, tag, MPI_COMM_WORLD, as_mpi(request));
  });
}

int test(void* /*self*/, void** request, int* done) { return MPI_Test(as_mpi(request), done, MPI_STATUS_IGNORE); }

int cancel(void* /*self*/, void** request) { return MPI_Cancel(as_mpi(request)); }

int probe(void* /*self*/, int from, int tag, int* found, int* source, uint64_t* size) {
  MPI_Status status;
  const int result = MPI_Iprobe(from == kHeedMpiAnyRank ? MPI_ANY_SOURCE : from, tag, MPI_COMM_WORLD, found, &status);
  if (result != MPI_SUCCESS || *found == 0) {
    return result;
  }
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  *source = status.MPI_SOURCE;
  *size = static_cast<uint64_t>(bytes);
  return 0;
}

int finish(void* /*self*/) { return MPI_Finalize(); }

void abort_job(void* /*self*/, int status) { MPI_Abort(MPI_COMM_WORLD, status); }

constexpr HeedMpiTable kTable{
    .layout = kHeedMpiLayout,
    .library = "Open MPI",
    .self = nullptr,
    .start = start,
    .rank = rank,
    .count = count,
    .largest_tag = largest_tag,
    .send = send,
    .receive = receive,
    .test = test,
    .cancel = cancel,
    .probe = probe,
    .finish = finish,
    .abort = abort_job,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const HeedMpiTable* heed_mpi_table() { return &kTable; }
