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
    const std::size_t bytes = count * sizeof(T);
    void* memory = ::operator new(bytes, alignment(bytes));
#ifdef MADV_HUGEPAGE
    if (bytes >= page) madvise(memory, bytes, MADV_HUGEPAGE);  // may be refused: then it is only slower
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) { ::operator delete(memory, alignment(count * sizeof(T))); }

  bool operator==(const LargePages&) const { return true; }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20;  // of x86-64, and usually of AArch64
  static std::align_val_t alignment(std::size_t bytes) { return std::align_val_t(bytes < page ? alignof(T) : page); }
};

}  // namespace allreplay
