// An allocator for large tables that are read at random.
#pragma once

#include <cstddef>
#include <new>
#include <sys/mman.h>

namespace allreplay {

/// Asks the system for large pages: in small ones, a read waits for the address of its page too.
template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class Other>
  LargePages(const LargePages<Other>&) {}

  T* allocate(std::size_t count) {
    std::size_t bytes = count * sizeof(T);
    if (!is_large(bytes)) return static_cast<T*>(::operator new(bytes, std::align_val_t(alignof(T))));
    bytes = (bytes + page - 1) / page * page;
    void* memory = ::operator new(bytes, std::align_val_t(page));
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);  // may be refused: then it is only slower
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    ::operator delete(memory, std::align_val_t(is_large(count * sizeof(T)) ? page : alignof(T)));
  }

  bool operator==(const LargePages&) const { return true; }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20;  // of x86-64, and usually of AArch64
  static bool is_large(std::size_t bytes) { return bytes >= page / 2; }
};

}  // namespace allreplay
