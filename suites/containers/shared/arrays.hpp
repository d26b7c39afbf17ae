#pragma once

// How a contender's container comes to be, of any size or of a size that its type fixes.

#include "array_checks.hpp"
#include "array_element.hpp"
#include "machine_code.hpp"
#include "measured_loops.hpp"

#include <toll/errors.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace toll::arrays {

/// A container with room for `size` elements.
template <class C>
struct Holder {
    explicit Holder(std::size_t size) : container(size) {}
    C container;
};

template <class C>
    requires(length_in_type<C> != 0)
struct Holder<C> {
    explicit Holder(std::size_t /*size*/) {}
    C container{};
};

template <class T>
struct Holder<std::span<T>> {
    explicit Holder(std::size_t size) : owner(size), container(owner) {}
    std::vector<T> owner;
    std::span<T> container;
};

/// An array whose type the workload does not know, with the two measured loops.
class Array {
public:
    Array() = default;
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    virtual ~Array() = default;
    /// A round for each n = 1 ... rounds, as measured_update() and measured_read() have it.
    virtual void update(std::uint64_t rounds) = 0;
    [[nodiscard]] virtual Element read(std::uint64_t rounds) const = 0;
    [[nodiscard]] virtual Element at(std::size_t index) const = 0;
    /// The first index whose element is not its initial value plus `added`; size() where all are.
    [[nodiscard]] virtual std::size_t first_wrong(Element added) const = 0;
    [[nodiscard]] virtual const void* update_loop() const noexcept = 0;
    [[nodiscard]] virtual const void* read_loop() const noexcept = 0;
};

template <class C, Access access>
class ArrayOf final : public Array {
public:
    explicit ArrayOf(std::size_t size) : size_(size), held_(size) {
        std::size_t index = 0;
        for (Element& element : held_.container) { element = initial(index++); }
    }
    void update(std::uint64_t rounds) override { measured_update(held_.container, size_, rounds); }
    [[nodiscard]] Element read(std::uint64_t rounds) const override {
        return measured_read<access>(held_.container, size_, rounds);
    }
    [[nodiscard]] Element at(std::size_t index) const override {
        return *std::next(std::begin(held_.container), static_cast<std::ptrdiff_t>(index));
    }
    [[nodiscard]] std::size_t first_wrong(Element added) const override {
        std::size_t index = 0;
        for (const Element element : held_.container) {
            if (element != initial(index) + added) { break; }
            ++index;
        }
        return index;
    }
    [[nodiscard]] const void* update_loop() const noexcept override {
        return reinterpret_cast<const void*>(&measured_update<C>);
    }
    [[nodiscard]] const void* read_loop() const noexcept override {
        return reinterpret_cast<const void*>(&measured_read<access, C>);
    }

private:
    std::size_t size_;
    Holder<C> held_;
};

/// A contender's container C, of as many elements as are asked for.
template <class C, Checks whose>
struct AnySize {
    static constexpr Checks checks = whose;
    template <Access access>
    static std::unique_ptr<Array> make(std::size_t size) {
        // Updates do not care how reads come to their elements; a container without an index walks.
        constexpr bool has_index = requires(const C& container) { container[std::size_t{0}]; };
        constexpr bool walks = access == Access::index && !has_index;
        return std::make_unique<ArrayOf<C, walks ? Access::iterator : access>>(size);
    }
};

/// A contender's container C<N>, compiled for each N of `sizes`. Throws Unsupported for another size.
template <template <std::size_t> class C, Checks whose>
struct FixedSizes {
    static constexpr Checks checks = whose;
    template <Access access>
    static std::unique_ptr<Array> make(std::size_t size) {
        return make_one_of<access>(size, std::make_index_sequence<sizes.size()>());
    }

private:
    template <Access access, std::size_t... index>
    static std::unique_ptr<Array> make_one_of(std::size_t size, std::index_sequence<index...> /*all*/) {
        std::unique_ptr<Array> made;
        std::string known;
        const auto attempt = [&]<std::size_t N> {
            known += (known.empty() ? "" : ", ") + std::to_string(N);
            if (N == size) { made = std::make_unique<ArrayOf<C<N>, access>>(N); }
        };
        (attempt.template operator()<sizes[index]>(), ...);
        if (!made) {
            throw Unsupported("the size is part of this container's type; it is compiled for " + known +
                              " elements, not for " + std::to_string(size));
        }
        return made;
    }
};

/// What a contender of both workloads is: checks and make<access>(size), as above.
template <class F>
concept Family = requires(std::size_t size) {
    { F::checks } -> std::convertible_to<Checks>;
    { F::template make<Access::index>(size) } -> std::same_as<std::unique_ptr<Array>>;
};

}  // namespace toll::arrays
