#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>

namespace toll {

/// A vector that never checks a bound, in any build, and whose iterator is a pointer: what a check costs
/// shows beside it. Copying copies the elements; a moved-from vector is empty.
template <class T>
class DataVector {
public:
    using value_type = T;
    using size_type = std::size_t;
    using reference = T&;
    using const_reference = const T&;
    using iterator = T*;
    using const_iterator = const T*;

    DataVector() noexcept = default;

    /// `size` elements with the value T().
    explicit DataVector(size_type size) : begin_(std::make_unique<T[]>(size)), size_(size), capacity_(size) {}

    DataVector(std::initializer_list<T> values) : DataVector(values.size()) {
        std::copy(values.begin(), values.end(), begin());
    }

    DataVector(const DataVector& other) : DataVector(other.size_) {
        std::copy(other.begin(), other.end(), begin());
    }
    DataVector(DataVector&& other) noexcept
        : begin_(std::move(other.begin_)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)) {}
    DataVector& operator=(DataVector other) noexcept {
        swap(other);
        return *this;
    }
    ~DataVector() = default;

    /// Undefined where index >= size(): that is the point of this class.
    [[nodiscard]] T& operator[](size_type index) noexcept { return begin_.get()[index]; }
    [[nodiscard]] const T& operator[](size_type index) const noexcept { return begin_.get()[index]; }

    [[nodiscard]] T* begin() noexcept { return begin_.get(); }
    [[nodiscard]] T* end() noexcept { return begin_.get() + size_; }
    [[nodiscard]] const T* begin() const noexcept { return begin_.get(); }
    [[nodiscard]] const T* end() const noexcept { return begin_.get() + size_; }
    [[nodiscard]] T* data() noexcept { return begin_.get(); }
    [[nodiscard]] const T* data() const noexcept { return begin_.get(); }

    [[nodiscard]] size_type size() const noexcept { return size_; }
    [[nodiscard]] size_type capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

    /// Amortised constant: the capacity doubles.
    void push_back(T value) {
        if (size_ == capacity_) { reserve(std::max<size_type>(2 * capacity_, 1)); }
        begin_.get()[size_++] = std::move(value);
    }

    void reserve(size_type capacity) {
        if (capacity <= capacity_) { return; }
        auto larger = std::make_unique<T[]>(capacity);
        std::move(begin(), end(), larger.get());
        begin_ = std::move(larger);
        capacity_ = capacity;
    }

    void clear() noexcept { size_ = 0; }

    void swap(DataVector& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

private:
    std::unique_ptr<T[]>
        begin_;  // get()[i], not [i]: the latter is checked where the library's assertions are on
    size_type size_ = 0;
    size_type capacity_ = 0;
};

}  // namespace toll
