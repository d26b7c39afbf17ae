#include "workload.hpp"

#include <toll/relax.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

/// Readers write nothing: each copies the record and begins anew where a number beside it, odd while it is
/// replaced, was another one afterwards. The words are atomic, as they are read while somebody writes (H.-J.
/// Boehm, Can seqlocks get along with programming language memory models?, MSPC 2012); acquire and release
/// on each stand for that paper's fences, which ThreadSanitizer does not know.
class SequenceLock {
public:
    using Reader = toll::read_mostly::PlainReader<SequenceLock>;

    template <class Look>
    auto read(Look look) const {
        for (;;) {
            const std::uint64_t before = sequence_.load(std::memory_order_acquire);
            toll::read_mostly::Record::Words copy;  // NOLINT(*-member-init) all of it is written
            for (std::size_t i = 0; i < copy.size(); ++i) {
                copy[i] = words_[i].load(std::memory_order_acquire);
            }
            if (before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before) {
                return look(toll::read_mostly::Record{copy});
            }
            toll::cpu_relax();
        }
    }
    void update() {
        const std::scoped_lock one_writer{writers_};
        const std::uint64_t before = sequence_.load(std::memory_order_relaxed);
        sequence_.store(before + 1, std::memory_order_relaxed);
        for (auto& word : words_) {
            word.store(word.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        }
        sequence_.store(before + 2, std::memory_order_release);
    }

private:
    std::atomic<std::uint64_t> sequence_{0};
    std::array<std::atomic<std::uint64_t>, toll::read_mostly::Record::size> words_{};
    alignas(128) std::mutex writers_;  // away from what readers read
};

TOLL_CONTENDER(read_mostly, sequence_lock, SequenceLock);
