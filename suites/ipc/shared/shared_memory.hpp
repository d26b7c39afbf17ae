// Memory that two processes share and that has no name, so that nothing is left behind; and sleeping in it.
#pragma once

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace toll::ipc {

/// A name that nobody else has, for what has to have one until both sides have opened it.
inline std::string new_name() {
    std::array<unsigned char, 12> random{};
    if (::getentropy(random.data(), random.size()) != 0) {
        throw std::system_error(errno, std::generic_category(), "getentropy");
    }
    std::string name = "toll-";
    for (const unsigned byte : random) {
        name += "0123456789abcdef"[byte >> 4U];
        name += "0123456789abcdef"[byte & 15U];
    }
    return name;
}

inline constexpr std::size_t line_bytes = 128;  // two lines: prefetchers take them in pairs

/// Zeros that a child made by fork() shares: anonymous, or those of `file`. Unmapped in the end.
class SharedMemory {
public:
    explicit SharedMemory(std::size_t bytes, int file = -1) : bytes_(bytes) {
        const int flags = MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0) | MAP_POPULATE;
        memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, file, 0);
        if (memory_ == MAP_FAILED) {
            throw std::system_error(errno, std::generic_category(), "mmap of shared memory");
        }
    }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    ~SharedMemory() { ::munmap(memory_, bytes_); }

    [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(memory_); }

private:
    void* memory_ = nullptr;
    std::size_t bytes_;
};

/// One T in shared memory, made before the other side exists. Its destructor is not called: it would be in
/// both processes.
template <class T, class Memory = SharedMemory>
class Shared {
public:
    template <class... Arguments>
    explicit Shared(Arguments&&... arguments)
        : memory_(sizeof(T)),
          value_(std::construct_at(reinterpret_cast<T*>(memory_.data()),
                                   std::forward<Arguments>(arguments)...)) {}

    [[nodiscard]] T& operator*() const noexcept { return *value_; }
    [[nodiscard]] T* operator->() const noexcept { return value_; }

private:
    Memory memory_;
    T* value_;
};

/// A word that processes sleep on, futex(2). std::atomic::wait sleeps on one of its own process alone.
using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == sizeof(std::uint32_t) && Word::is_always_lock_free);

/// Sleeps while `word` is `value`; returns at a wake-up, a signal, or after `most_ms`.
inline void sleep_on(const Word& word, std::uint32_t value, long most_ms = 1000) noexcept {
    const timespec most{most_ms / 1000, most_ms % 1000 * 1'000'000};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0);
}

inline void wake_one(const Word& word) noexcept {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace toll::ipc
