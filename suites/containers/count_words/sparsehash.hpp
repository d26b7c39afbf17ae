#pragma once

// What sparsehash's maps need beside the rest: its look-ups take a std::string alone.

#include "word_counters.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace toll::count_words {

template <class Container>
class SparsehashKeyed : public Held<Container> {
public:
    bool count(std::string_view word) {
        key_ = word;
        const auto found = this->container_.find(key_);
        if (found == this->container_.end()) { return false; }
        ++found->second;
        return true;
    }
    void add(std::string_view word) { this->container_.insert(Node(std::string(word), 1)); }

private:
    std::string key_;  // keeps its memory, so that a look-up allocates nothing
};

}  // namespace toll::count_words
