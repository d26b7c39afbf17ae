// How a contender makes itself known: one line, TOLL_CONTENDER(namespace, name, Type).
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "toll/resources.hpp"
#include "toll/workload.hpp"

namespace toll {

/// A workload with a contender in it, alive: what the library times.
class State {
public:
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    virtual ~State() = default;
    /// Right before and right after what is timed of a batch; nothing where the workload offers neither.
    virtual void before_batch() = 0;
    virtual void after_batch() noexcept = 0;
    virtual Checksum run(std::uint64_t iterations) = 0;
    virtual Checksum sample(std::span<float> nanoseconds, const Clock& clock) = 0;
    [[nodiscard]] virtual std::uint64_t units_per_iteration() const = 0;
    [[nodiscard]] virtual Checksum expected(std::uint64_t iterations) const = 0;
    [[nodiscard]] virtual Footing footing() const = 0;
    /// Both are about the last request, and empty where the workload offers none.
    [[nodiscard]] virtual Details details() const = 0;
    [[nodiscard]] virtual std::vector<Cell> cells() const = 0;
    /// What other processes used for the last request; nothing where the workload offers none.
    [[nodiscard]] virtual Resources used_elsewhere() const = 0;
};

/// One contender that this program offers.
struct Contender {
    std::string_view name;
    Library library;
    WorkloadInfo workload;
    std::vector<Parameter> (*parameters)();
    std::unique_ptr<State> (*make)(const Arguments&);
    /// The library behind it cannot be set up twice in one process: a `layout` seed then shifts stack and
    /// heap only.
    bool once_per_process = false;
    Scope scope = Scope::process;  ///< whose CPU time, switches and faults a batch tells
};

/// The contenders of this program, in the order in which they were registered.
[[nodiscard]] std::span<const Contender> contenders();

namespace detail {

void add(const Contender& contender);

// Not const: one that lacks its const is found here and refused below, not silently left out.
template <class W>
concept OffersDetails = requires(W& workload) { workload.details(); };
template <class W>
concept OffersCells = requires(W& workload) { workload.cells(); };

template <class W>
concept TellsDetails = requires(const W& workload) {
    { workload.details() } -> std::convertible_to<Details>;
};
template <class W>
concept TellsCells = requires(const W& workload) {
    { workload.cells() } -> std::convertible_to<std::vector<Cell>>;
};
template <class W>
concept OffersBeforeBatch = requires(W& workload) { workload.before_batch(); };
template <class W>
concept PreparesBatches = OffersBeforeBatch<W> && requires(W& workload) {
    { workload.after_batch() } noexcept;
};
template <class W>
concept OffersUseElsewhere = requires(W& workload) { workload.used_elsewhere(); };
template <class W>
concept TellsUseElsewhere = requires(const W& workload) {
    { workload.used_elsewhere() } -> std::convertible_to<Resources>;
};
template <class W>
concept OncePerProcess = requires { requires W::once_per_process; };
template <class W>
concept TimesOwnThread = requires { requires W::times_own_thread; };

template <class W>
class StateOf final : public State {
public:
    explicit StateOf(const Arguments& arguments) : workload_(arguments) {}

    void before_batch() override {
        if constexpr (PreparesBatches<W>) { workload_.before_batch(); }
    }
    void after_batch() noexcept override {
        if constexpr (PreparesBatches<W>) { workload_.after_batch(); }
    }
    Checksum run(std::uint64_t iterations) override {
        if constexpr (W::info.kind == Kind::batch) {
            return workload_.run(iterations);
        } else {
            throw UsageError("this contender answers `samples`, not `batch`");
        }
    }
    Checksum sample(std::span<float> nanoseconds, const Clock& clock) override {
        if constexpr (W::info.kind == Kind::samples) {
            return workload_.sample(nanoseconds, clock);
        } else {
            throw UsageError("this contender answers `batch`, not `samples`");
        }
    }
    [[nodiscard]] std::uint64_t units_per_iteration() const override {
        if constexpr (requires { workload_.units_per_iteration(); }) {
            return workload_.units_per_iteration();
        } else {
            return 1;
        }
    }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const override {
        return workload_.expected(iterations);
    }
    [[nodiscard]] Footing footing() const override { return workload_.footing(); }
    [[nodiscard]] Details details() const override {
        if constexpr (OffersDetails<W>) {
            return workload_.details();
        } else {
            return {};
        }
    }
    [[nodiscard]] std::vector<Cell> cells() const override {
        if constexpr (OffersCells<W>) {
            return workload_.cells();
        } else {
            return {};
        }
    }
    [[nodiscard]] Resources used_elsewhere() const override {
        if constexpr (TellsUseElsewhere<W>) {
            return workload_.used_elsewhere();
        } else {
            return {};
        }
    }

private:
    W workload_;
};

}  // namespace detail

/// Registers `W`, a workload with a contender in it, under `name` when the program starts.
template <class W>
struct Registration {
    static_assert(DescribedWorkload<W>,
                  "toll: the workload lacks info, parameters(), expected() or footing(), or cannot be "
                  "made from const toll::Arguments&");
    static_assert(W::info.kind != Kind::batch || BatchWorkload<W>,
                  "toll: a workload of Kind::batch needs run(iterations) and units_per_iteration()");
    static_assert(W::info.kind != Kind::samples || SampleWorkload<W>,
                  "toll: a workload of Kind::samples needs sample(nanoseconds, clock)");

    static_assert(!detail::OffersDetails<W> || detail::TellsDetails<W>,
                  "toll: details() must be const and return toll::Details");
    static_assert(!detail::OffersBeforeBatch<W> || detail::PreparesBatches<W>,
                  "toll: before_batch() needs after_batch() noexcept beside it");
    static_assert(!detail::OffersCells<W> || detail::TellsCells<W>,
                  "toll: cells() must be const and return std::vector<toll::Cell>");
    static_assert(!detail::OffersUseElsewhere<W> || detail::TellsUseElsewhere<W>,
                  "toll: used_elsewhere() must be const and return toll::Resources");

    Registration(std::string_view name, Library library) {
        detail::add(Contender{
            .name = name,
            .library = library,
            .workload = W::info,
            .parameters = [] { return std::vector<Parameter>(W::parameters()); },
            .make = [](const Arguments& arguments) -> std::unique_ptr<State> {
                return std::make_unique<detail::StateOf<W>>(arguments);
            },
            .once_per_process = detail::OncePerProcess<W>,
            .scope = detail::TimesOwnThread<W> ? Scope::thread : Scope::process,
        });
    }
};

#if defined(_LIBCPP_VERSION)
#define TOLL_STANDARD_LIBRARY "libc++ " TOLL_TEXT(_LIBCPP_VERSION)
#elif defined(_GLIBCXX_RELEASE)
#define TOLL_STANDARD_LIBRARY "libstdc++ " TOLL_TEXT(_GLIBCXX_RELEASE)
#else
#define TOLL_STANDARD_LIBRARY "unknown"
#endif
#define TOLL_TEXT_OF(x) #x
#define TOLL_TEXT(x) TOLL_TEXT_OF(x)

// CMake defines both from suite.toml and the library's find-file.
#ifndef TOLL_LIBRARY
#define TOLL_LIBRARY "std"
#endif
#ifndef TOLL_LIBRARY_VERSION
#define TOLL_LIBRARY_VERSION TOLL_STANDARD_LIBRARY
#endif

/// Offers `type` (the last argument) as the contender `name` of the workload toll::`space`::Workload.
/// The type must model that workload's concept; the compiler names what is missing.
#define TOLL_CONTENDER(space, name, ...)                                    \
    static const ::toll::Registration<::toll::space::Workload<__VA_ARGS__>> \
        toll_registration_##space##_##name(#name, ::toll::Library{TOLL_LIBRARY, TOLL_LIBRARY_VERSION})

}  // namespace toll
