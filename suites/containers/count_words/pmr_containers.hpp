#pragma once

// Maps on the memory resources of std::pmr.

#include "word_counters.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <unordered_map>

namespace toll::count_words {

using PmrMap = std::pmr::map<std::string, int, std::less<>>;
using PmrUnorderedMap = std::pmr::unordered_map<std::string, int, WordHash, std::equal_to<>>;

/// A base, so that the resource is there before the container and after it.
template <class Resource>
struct OwnResource {
    Resource resource;
};

/// Freed nodes wait in the resource's pools.
template <class Container>
class Pooled : OwnResource<std::pmr::unsynchronized_pool_resource>, public KeyedIn<Container> {
public:
    explicit Pooled(std::size_t) : KeyedIn<Container>(&this->resource) {}
};

/// Nothing is freed before a clear, which gives all back at once.
template <class Container>
class Monotonic : OwnResource<std::pmr::monotonic_buffer_resource>, public KeyedIn<Container> {
public:
    explicit Monotonic(std::size_t) : KeyedIn<Container>(&this->resource) {}
    void clear() {
        std::destroy_at(&this->container_);
        this->resource.release();
        std::construct_at(&this->container_, &this->resource);
    }
};

}  // namespace toll::count_words
