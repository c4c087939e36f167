// Memory that two processes of one machine share, and the rings of messages in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace heed {

// A file without a name that lives in memory; other processes of this user open it by the process's number and the
// file's.
class SharedFile {
 public:
  // None where the system gives none.
  static std::optional<SharedFile> create(size_t bytes);
  static std::optional<SharedFile> open(const std::string& address);
  SharedFile(SharedFile&& other) noexcept;
  SharedFile& operator=(SharedFile&& other) noexcept;
  ~SharedFile();

  std::string address() const;
  int number() const { return number_; }

 private:
  explicit SharedFile(int number) : number_(number) {}
  int number_ = -1;
};

struct SharedRingHead;

// What goes from one process to one other with one tag: a ring of slots, which one side fills and the other empties.
// Both sides know how long each message is, so that nothing but the bytes has to be in it.
class SharedRing {
 public:
  SharedRing(SharedRingHead& head, std::span<std::byte> slots) : head_(&head), slots_(slots) {}

  // Copies the beginning of `bytes`, as much as has room or has come. Returns how much. A message's parts are as long
  // as a slot, but for its last one.
  size_t put(std::span<const std::byte> bytes);
  size_t take(std::span<std::byte> bytes);

 private:
  std::byte* slot(uint64_t number) const;

  SharedRingHead* head_;
  std::span<std::byte> slots_;
};

// The part of a shared file in which all rings from one process to one other are.
class SharedSection {
 public:
  static constexpr int kRings = 64;
  static constexpr size_t kSlotBytes = size_t{1} << 18;

  static size_t bytes(int slots);
  // Maps the file's section number `index`, with `slots` slots in each ring. None where it can't be mapped.
  static std::optional<SharedSection> map(const SharedFile& file, int index, int slots);

  // The ring with this tag. The sender makes it; to the receiver it is not there before. None: all rings are taken.
  std::optional<SharedRing> make_ring(int tag);
  std::optional<SharedRing> find_ring(int tag);

 private:
  struct Unmap {
    size_t bytes = 0;
    void operator()(void* memory) const;
  };

  SharedSection(void* memory, int slots);
  SharedRingHead* heads() const;
  SharedRing ring(int index) const;

  std::unique_ptr<void, Unmap> memory_;
  int slots_;
};

}  // namespace heed
