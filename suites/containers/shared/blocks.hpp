#pragma once

// The blocks that containers/allocate and containers/allocate_throughput take and give back, and how their
// contenders do it.

#include <toll/arguments.hpp>
#include <toll/clock.hpp>
#include <toll/errors.hpp>
#include <toll/layout.hpp>
#include <toll/sample.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace toll::allocate {

inline constexpr std::size_t smallest_bytes = 16;  // room for both stamps
inline constexpr std::size_t largest_bytes = std::size_t{1} << 20;
inline constexpr std::size_t growing = 0;  // 16 B, 32 B ... 1 MiB and again
inline constexpr std::size_t most_live_bytes = std::size_t{64} << 20;

/// The sizes for which an allocator of one type of object is compiled.
inline constexpr std::array<std::size_t, 7> typed_sizes{16, 64, 256, 1024, 4096, 65'536, largest_bytes};

struct Block {
    std::byte* place;
    std::size_t bytes;
};

/// Bytes of block `index`: `size`, or the next power of two where the sizes grow.
[[nodiscard]] constexpr std::size_t bytes_of(std::size_t size, std::size_t index) noexcept {
    constexpr auto steps = static_cast<std::size_t>(std::countr_zero(largest_bytes / smallest_bytes)) + 1;
    return size != growing ? size : smallest_bytes << (index % steps);
}

/// Blocks that live at once: as many as asked for, and at most 64 MiB of them.
[[nodiscard]] inline std::size_t live_blocks(std::size_t size, std::size_t asked) noexcept {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < asked; ++count) {
        bytes += bytes_of(size, count);
        if (bytes > most_live_bytes && count > 0) { break; }
    }
    return count;
}

/// "64" or "growing". Throws UsageError for what is neither, or no size from 16 B to 1 MiB.
[[nodiscard]] inline std::size_t parsed_size(const std::string& text) {
    if (text == "growing") { return growing; }
    std::size_t size = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (failure != std::errc{} || end != text.data() + text.size() || size < smallest_bytes ||
        size > largest_bytes) {
        throw UsageError("size is growing, or bytes from 16 to 1048576, not '" + text + "'");
    }
    return size;
}

/// Writes `number` to both ends of a block, as a program that uses it would.
[[gnu::always_inline]] inline void stamp(const Block& block, std::uint64_t number) noexcept {
    std::memcpy(block.place, &number, sizeof number);
    std::memcpy(block.place + block.bytes - sizeof number, &number, sizeof number);
}

/// Whether both ends still hold `number`: no other block lies over this one.
[[nodiscard, gnu::always_inline]] inline bool is_intact(const Block& block, std::uint64_t number) noexcept {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::memcpy(&first, block.place, sizeof first);
    std::memcpy(&last, block.place + block.bytes - sizeof last, sizeof last);
    return first == number && last == number;
}

/// What a contender models.
///  - `allocate(bytes)` returns a block, aligned for any fundamental type; throws std::bad_alloc;
///  - `deallocate(place, bytes)` takes it back;
///  - `all_freed()` (optional) is called once all blocks were given back: the time of the last one;
///  - `one_thread` (optional): true where blocks must be given back by the thread that took them;
///  - constructible from nothing, or from the size of its only blocks.
template <class A>
concept Allocator = (std::is_default_constructible_v<A> || std::constructible_from<A, std::size_t>) &&
                    requires(A allocator, std::size_t bytes, void* place) {
                        { allocator.allocate(bytes) } -> std::same_as<void*>;
                        allocator.deallocate(place, bytes);
                    };

template <class A>
inline constexpr bool one_thread = requires { requires A::one_thread; };

/// A contender with its blocks, as the workloads drive it. Block i of the array is block i of every cycle;
/// blocks are given back in another order, that of `order`, because programs hardly ever give them back in
/// the order in which they took them.
class Blocks {
public:
    Blocks() = default;
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    virtual ~Blocks() = default;
    /// Takes the first `blocks` blocks and stamps them.
    virtual void fill(std::size_t blocks) = 0;
    /// Checks and gives back the blocks that fill(blocks) took; returns how many were intact.
    virtual std::uint64_t drain(std::size_t blocks) = 0;
    /// The same with out.size() blocks and each call timed by itself, the call alone.
    virtual void fill_timed(std::span<float> out, const Clock& clock) = 0;
    virtual std::uint64_t drain_timed(std::span<float> out, const Clock& clock) = 0;
    [[nodiscard]] virtual std::size_t count() const noexcept = 0;
};

template <Allocator A>
class BlocksOf final : public Blocks {
public:
    BlocksOf(std::size_t size, std::size_t count)
        : allocator_(made(size)), blocks_(count, Block{nullptr, 0}), order_(count) {
        for (std::size_t i = 0; i < count; ++i) { blocks_[i].bytes = bytes_of(size, i); }
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        Random random(count);  // the same order in every launch
        for (std::size_t i = count; i > 1; --i) {
            std::swap(order_[i - 1], order_[static_cast<std::size_t>(random.below(i))]);
        }
    }

    void fill(std::size_t blocks) override {
        for (std::size_t i = 0; i < blocks; ++i) {
            blocks_[i].place = static_cast<std::byte*>(allocator_.allocate(blocks_[i].bytes));
            stamp(blocks_[i], i);
        }
    }

    std::uint64_t drain(std::size_t blocks) override {
        std::uint64_t intact = 0;
        for (const std::uint32_t number : order_) {
            if (number >= blocks) { continue; }
            const Block block = blocks_[number];
            intact += is_intact(block, number) ? 1 : 0;
            allocator_.deallocate(block.place, block.bytes);
        }
        all_freed();
        return intact;
    }

    void fill_timed(std::span<float> out, const Clock& clock) override {
        SampleRecorder recorder(out, clock);
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::size_t bytes = blocks_[i].bytes;
            const Ticks start = clock.start();
            void* place = allocator_.allocate(bytes);
            const Ticks stop = clock.stop();
            recorder.record(start, stop);
            blocks_[i].place = static_cast<std::byte*>(place);
            stamp(blocks_[i], i);
        }
        recorder.finish();
    }

    std::uint64_t drain_timed(std::span<float> out, const Clock& clock) override {
        SampleRecorder recorder(out, clock);
        std::uint64_t intact = 0;
        for (const std::uint32_t number : order_) {
            if (number >= out.size()) { continue; }
            const Block block = blocks_[number];
            intact += is_intact(block, number) ? 1 : 0;
            const bool last = recorder.recorded() + 1 == out.size();
            const Ticks start = clock.start();
            allocator_.deallocate(block.place, block.bytes);
            if (last) { all_freed(); }
            const Ticks stop = clock.stop();
            recorder.record(start, stop);
        }
        recorder.finish();
        return intact;
    }

    [[nodiscard]] std::size_t count() const noexcept override { return blocks_.size(); }

private:
    static A made(std::size_t size) {
        if constexpr (std::is_default_constructible_v<A>) {
            return A();
        } else {
            if (size == growing) {
                throw Unsupported("a pool here has blocks of one size; ask for one, such as size=64");
            }
            return A(size);
        }
    }

    [[gnu::always_inline]] void all_freed() {
        if constexpr (requires { allocator_.all_freed(); }) { allocator_.all_freed(); }
    }

    A allocator_;
    std::vector<Block> blocks_;
    std::vector<std::uint32_t> order_;
};

/// A contender for blocks of any size.
template <Allocator A>
struct AnyBytes {
    static constexpr bool is_for_one_thread = one_thread<A>;
    static std::unique_ptr<Blocks> make(std::size_t size, std::size_t count) {
        return std::make_unique<BlocksOf<A>>(size, count);
    }
};

/// What an allocator of one type gives out: `size` bytes as strictly aligned as malloc's.
template <std::size_t size>
struct alignas(std::min(size, alignof(std::max_align_t))) Object {
    std::byte bytes[size];
};

/// A contender for objects of one type, compiled for each of typed_sizes. Throws Unsupported for another
/// size.
template <template <class> class A>
struct TypedBytes {
    static constexpr bool is_for_one_thread = one_thread<A<Object<64>>>;
    static std::unique_ptr<Blocks> make(std::size_t size, std::size_t count) {
        return make_one_of(size, count, std::make_index_sequence<typed_sizes.size()>());
    }

private:
    template <std::size_t... index>
    static std::unique_ptr<Blocks> make_one_of(std::size_t size, std::size_t count,
                                               std::index_sequence<index...> /*all*/) {
        std::unique_ptr<Blocks> made;
        std::string known;
        const auto attempt = [&]<std::size_t bytes> {
            known += (known.empty() ? "" : ", ") + std::to_string(bytes);
            if (bytes == size) { made = std::make_unique<BlocksOf<A<Object<bytes>>>>(size, count); }
        };
        (attempt.template operator()<typed_sizes[index]>(), ...);
        if (!made) { throw Unsupported("this allocator serves one type; it is compiled for size=" + known); }
        return made;
    }
};

/// What a contender of both workloads is.
template <class F>
concept Family = requires(std::size_t size) {
    { F::is_for_one_thread } -> std::convertible_to<bool>;
    { F::make(size, size) } -> std::same_as<std::unique_ptr<Blocks>>;
};

}  // namespace toll::allocate
