#pragma once

// The reference answer: the same test on a table of its own, which shares no code with any contender.

#include "engine.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace toll::count_words {

/// One pass's answer, and what the container holds at every clear.
struct Reference {
    Tally tally;
    std::uint64_t digest_at_clears = 0;  ///< sum over the clears
};

/// Open addressing with linear steps, at most half full. A clear starts a new era instead of emptying slots.
class ReferenceTable {
public:
    explicit ReferenceTable(std::size_t most) : slots_(std::bit_ceil(2 * most + 1)) {}

    /// The count of `word`; 0 where it is new and `may_add` is false.
    int count(std::string_view word, bool may_add) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = digest_of(word, 0) & mask;
        while (slots_[at].era == era_ && slots_[at].word != word) { at = (at + 1) & mask; }
        Slot& slot = slots_[at];
        if (slot.era != era_) {
            if (!may_add) { return 0; }
            slot = {word, 0, era_};
            ++size_;
        }
        return ++slot.count;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    void clear() noexcept {
        ++era_;
        size_ = 0;
    }
    [[nodiscard]] std::uint64_t digest() const noexcept {
        std::uint64_t sum = 0;
        for (const Slot& slot : slots_) { sum += slot.era == era_ ? digest_of(slot.word, slot.count) : 0; }
        return sum;
    }

private:
    struct Slot {
        std::string_view word;
        int count = 0;
        std::uint64_t era = 0;
    };
    std::vector<Slot> slots_;
    std::uint64_t era_ = 1;
    std::size_t size_ = 0;
};

[[nodiscard]] inline Reference reference_answer(const Words& words, std::size_t group) {
    Reference reference;
    ReferenceTable table(group);
    std::size_t lookups = 0;
    words.each([&](std::string_view word) {
        const bool filling = table.size() < group;
        const int count = table.count(word, filling);
        reference.tally.added += count == 1 ? 1 : 0;
        reference.tally.duplicates += count > 1 ? 1 : 0;
        lookups += filling ? 0 : 1;
        if (lookups == lookup_scale * group) {
            lookups = 0;
            reference.digest_at_clears += table.digest();
            table.clear();
            ++reference.tally.clears;
        }
        return true;
    });
    reference.tally.digest = table.digest();
    return reference;
}

}  // namespace toll::count_words
