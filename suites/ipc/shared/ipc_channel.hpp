// What a contender of the topic ipc models, and what it is told.
#pragma once

#include <toll/relax.hpp>
#include <toll/workload.hpp>

#include <sched.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace toll::ipc {

/// Who of the two: the asker is the process that toll started, the answerer its child or a thread of it.
enum class Side { asker, answerer };

[[nodiscard]] constexpr Side other(Side side) noexcept {
    return side == Side::asker ? Side::answerer : Side::asker;
}

/// 0 for the asker, 1 for the answerer: an index of what there is one of for each.
[[nodiscard]] constexpr std::size_t index_of(Side side) noexcept {
    return side == Side::asker ? 0 : 1;
}

/// What both sides know before the first message.
struct Plan {
    std::size_t bytes = 0;  ///< of every message: both sides know it, so that nobody sends lengths in vain
    bool polling = false;   ///< who waits must not sleep: it asks again and again
    bool processes = true;  ///< else two threads of one
    bool apart = true;      ///< each side has a CPU of its own

    /// Between two looks of who polls. On one CPU polling without giving way would last for a time slice.
    void relax() const noexcept {
        if (apart) [[likely]] {
            cpu_relax();
        } else {
            ::sched_yield();
        }
    }
};

/// What a contender models. The channel is made before the other side exists, in the asker's thread: what
/// both inherit, such as shared memory and connected sockets, without a name that could be left behind. Each
/// side then makes its own end, in its own process or thread.
///  - `End(channel, side)`: threads and contexts of a library belong here, as they do not survive fork();
///  - `send(bytes)` returns once the channel has them. They stay as they are until two more have been sent,
///  or
///    one was received: what reads the sender's memory later may rely on it;
///  - `receive(bytes)` fills them all, with one message;
///  - `flush()` (optional) is called after the last of several messages in a row;
///  - `copies`: how often each byte is copied between the two buffers, by design;
///  - `never_sleeps` (optional): true for what can do nothing but poll;
///  - `threads_only` (optional): true for what two processes cannot share;
///  - `once_per_process` (optional): true for a library that is set up once and cannot be taken down before a
///    fork();
///  - `carriers` (optional): how many threads of its library a side needs beside its own for a message to
///  pass. They
///    sleep and are woken whoever polls, so that polling needs a CPU for each;
///  - `messages_held()` (optional): how many messages can be on their way at once, in one direction. A batch
///  of
///    ipc/throughput is several times as long: one that fits would measure how quickly the channel is filled;
///  - `footing()` (optional): what was seen of the channel, beside what is told of every row;
///  - `leave_nothing()` (optional, noexcept): called where a side ends without destructors, by either side:
///  for
///    what the kernel keeps after its users are gone.
template <class C>
concept Channel =
    std::constructible_from<C, const Plan&> && std::constructible_from<typename C::End, C&, Side> &&
    requires(typename C::End end, std::span<const std::byte> out, std::span<std::byte> in) {
        { C::copies } -> std::convertible_to<double>;
        end.send(out);
        end.receive(in);
    };

template <class C>
inline constexpr bool never_sleeps = requires { requires C::never_sleeps; };
template <class C>
inline constexpr bool threads_only = requires { requires C::threads_only; };
template <class C>
inline constexpr bool set_up_once = requires { requires C::once_per_process; };

/// See `carriers` above: of each side.
template <class C>
constexpr std::size_t carriers() {
    if constexpr (requires { C::carriers; }) {
        return C::carriers;
    } else {
        return 0;
    }
}

/// How often the watch looks, five times a second, before it takes a silence for a hang: ten seconds, unless
/// a contender has a `most_looks` of its own.
template <class C>
constexpr unsigned most_looks() {
    if constexpr (requires { C::most_looks; }) {
        return C::most_looks;
    } else {
        return 50;
    }
}

/// See `leave_nothing()` above.
template <class C>
void leave_nothing(C& channel) noexcept {
    if constexpr (requires { channel.leave_nothing(); }) { channel.leave_nothing(); }
}

/// See `messages_held()` above; 0 where a channel does not tell.
template <class C>
[[nodiscard]] std::uint64_t messages_held(const C& channel) {
    if constexpr (requires { channel.messages_held(); }) {
        return channel.messages_held();
    } else {
        return 0;
    }
}

template <class E>
void flush(E& end) {
    if constexpr (requires { end.flush(); }) { end.flush(); }
}

/// Calls `each(part)` for consecutive parts of `bytes`, none longer than `most`.
template <class Byte, class Each>
void in_parts(std::span<Byte> bytes, std::size_t most, Each each) {
    while (!bytes.empty()) {
        const auto part = bytes.first(bytes.size() < most ? bytes.size() : most);
        each(part);
        bytes = bytes.subspan(part.size());
    }
}

}  // namespace toll::ipc
