#include "../shared/seen_by_sanitizer.hpp"
#include "workload.hpp"

#include <atomic>
#include <memory>
#include <mutex>

#if defined(__cpp_lib_atomic_shared_ptr) && !defined(TOLL_THREAD_SANITIZER)

/// Each reader counts itself as an owner of the record that it reads; who lets go last frees it.
class StdAtomicSharedPtr {
public:
    using Reader = toll::read_mostly::PlainReader<StdAtomicSharedPtr>;

    template <class Look>
    auto read(Look look) const {
        const std::shared_ptr<const toll::read_mostly::Record> record =
            record_.load(std::memory_order_acquire);
        return look(*record);
    }
    void update() {
        const std::scoped_lock one_writer{writers_};
        const auto old = record_.load(std::memory_order_relaxed);
        record_.store(std::make_shared<const toll::read_mostly::Record>(old->next()),
                      std::memory_order_release);
    }

private:
    std::atomic<std::shared_ptr<const toll::read_mostly::Record>> record_{
        std::make_shared<const toll::read_mostly::Record>()};
    alignas(128) std::mutex writers_;  // away from what readers read
};

#else

/// libc++ has none up to version 22. That of libstdc++ 12 gives its lock back by a relaxed operation, which
/// ThreadSanitizer would report.
class StdAtomicSharedPtr : public toll::read_mostly::Guarded<std::mutex> {
public:
    StdAtomicSharedPtr() {
        throw toll::Unsupported(
            "std::atomic<std::shared_ptr> is in libstdc++ alone, and not for ThreadSanitizer");
    }
};

#endif

TOLL_CONTENDER(read_mostly, std_atomic_shared_ptr, StdAtomicSharedPtr);
