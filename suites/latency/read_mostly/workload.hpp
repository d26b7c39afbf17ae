#pragma once

// latency/read_mostly: several threads read one record that is seldom replaced.

#include "../shared/placement.hpp"
#include "../shared/tied_crew.hpp"

#include <toll/contender.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace toll::read_mostly {

/// What is read: half a cache line, each of whose words says how often it was replaced.
class Record {
public:
    static constexpr std::size_t size = 4;
    using Words = std::array<std::uint64_t, size>;
    static constexpr std::uint64_t torn = std::numeric_limits<std::uint64_t>::max();

    Record() = default;
    explicit Record(const Words& words) : words_(words) {}

    /// How often it was replaced; `torn` where the words are not of one version.
    [[nodiscard]] std::uint64_t version() const noexcept {
        const std::uint64_t apart =
            (words_[0] ^ words_[1]) | (words_[2] ^ words_[3]) | (words_[0] ^ words_[2]);
        return apart == 0 ? words_[0] : torn;
    }
    [[nodiscard]] Record next() const noexcept {
        Record record = *this;
        record.renew();
        return record;
    }
    /// In place, for those who keep readers away meanwhile.
    void renew() noexcept {
        for (std::uint64_t& word : words_) { ++word; }
    }

private:
    Words words_{};
};

/// What a contender models: a record that begins with version 0.
///  - `Reader`: made from the contender by each thread for each batch, in which it is alone with it;
///  - `Reader::read(look)` calls `look` with a record that nobody changes meanwhile, and returns what it
///  returns;
///  - `Reader::update()` replaces the record by the next one;
///  - `footing()` (optional): what was observed.
template <class C>
concept Shared = std::default_initializable<C> && std::constructible_from<typename C::Reader, C&> &&
                 requires(typename C::Reader reader) {
                     {
                         reader.read([](const Record& record) { return record.version(); })
                     } -> std::same_as<std::uint64_t>;
                     reader.update();
                 };

/// For contenders that keep nothing for a thread.
template <class C>
class PlainReader {
public:
    explicit PlainReader(C& shared) : shared_(shared) {}
    template <class Look>
    auto read(Look look) {
        return shared_.read(look);
    }
    void update() { shared_.update(); }

private:
    C& shared_;
};

/// A record beside its lock; readers share the lock where it can be shared.
template <class L>
class Guarded {
public:
    using Reader = PlainReader<Guarded>;

    template <class Look>
    auto read(Look look) {
        if constexpr (requires(L lock) { lock.lock_shared(); }) {
            const std::shared_lock held{lock_};
            return look(std::as_const(record_));
        } else {
            const std::scoped_lock held{lock_};
            return look(std::as_const(record_));
        }
    }
    void update() {
        const std::scoped_lock held{lock_};
        record_.renew();
    }

private:
    // What readers of a lock write lies at its beginning, so that it shares the record's line whatever its
    // size.
    alignas(64) Record record_;
    L lock_;
};

/// All threads read equally often, and each replaces the record after so many reads of its own, in turn. A
/// read counts where its words are of one version, no older than the one that the thread saw before.
template <Shared C>
class Workload {
public:
    static constexpr WorkloadInfo info{"latency/read_mostly", Kind::batch, "ns", "read"};

    static std::vector<Parameter> parameters() {
        return {{"threads", "cpus", "threads",
                 "threads that read, tied to the CPUs in turn, one of each core first"},
                {"reads_per_update", "10000", "reads", "of a thread, until it replaces the record"}};
    }

    explicit Workload(const Arguments& arguments)
        : threads_(static_cast<unsigned>(arguments.number("threads", 1, most_threads))),
          reads_per_update_(arguments.number("reads_per_update", 1, most_reads)),
          seen_(threads_),
          until_update_(threads_),
          crew_(threads_) {
        for (unsigned number = 0; number < threads_; ++number) {
            until_update_[number] = first_update_of(number);
        }
    }

    Workload(const Workload&) = delete;
    Workload& operator=(const Workload&) = delete;
    ~Workload() = default;

    Checksum run(std::uint64_t iterations) {
        C& shared = lines_.shared;
        crew_.run([&](unsigned number) {
            const std::uint64_t reads = iterations / threads_ + (number < iterations % threads_ ? 1 : 0);
            seen_[number] = read_all(shared, reads, until_update_[number]);
        });
        Seen all;
        for (const Seen& seen : seen_) {
            all.right += seen.right;
            updates_ += seen.updates;
        }
        // An update that was lost makes the answer wrong as a torn record does.
        const std::uint64_t version = typename C::Reader{shared}.read(version_of);
        return version == updates_ ? all.right : 0;
    }

    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }
    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return 1; }

    [[nodiscard]] Footing footing() const {
        Footing seen{{"threads", threads_},
                     {"pinning", crew_.pinning()},
                     {"record_bytes", sizeof(Record)},
                     {"threads_per_cpu", threads_ > usable_cpus().size() ? "several" : "at most one"}};
        if (crew_.tied()) {
            const auto& all = latency::cpus_in_turn();
            const auto taken = std::span(all).first(std::min<std::size_t>(threads_, all.size()));
            latency::Topology topology;
            seen.set({"pinned_cpus", cpu_list(taken)});
            seen.set({"placement", latency::closenesses(taken, topology)});
        }
        if constexpr (requires { C::footing(); }) {
            const Footing observed = C::footing();
            for (const auto& [name, value] : observed.all()) {
                std::visit([&, &key = name](const auto& known) { seen.set({key, known}); }, value);
            }
        }
        return seen;
    }

private:
    static constexpr std::uint64_t most_threads = 4096;
    static constexpr std::uint64_t most_reads = 1'000'000'000'000;
    static constexpr auto version_of = [](const Record& record) { return record.version(); };

    /// The contender on lines of its own.
    struct alignas(128) OwnLines {
        C shared;
    };
    struct alignas(128) Seen {
        std::uint64_t right = 0;
        std::uint64_t updates = 0;
    };

    /// Evenly apart, so that threads do not all replace it at once.
    [[nodiscard]] std::uint64_t first_update_of(unsigned number) const noexcept {
        return std::max<std::uint64_t>(1, reads_per_update_ * (number + 1) / threads_);
    }

    /// `still` is how many reads the thread has until its next update: they go on from batch to batch.
    Seen read_all(C& shared, std::uint64_t reads, std::uint64_t& still) const {
        typename C::Reader reader{shared};
        std::uint64_t until_update = still;
        Seen seen;
        std::uint64_t least = updates_;  // those of earlier batches, all of which happened before this one
        while (reads != 0) {
            const std::uint64_t now = std::min(reads, until_update);
            seen.right += now - wrong_of(reader, now, least);
            reads -= now;
            until_update -= now;
            if (until_update == 0) {
                reader.update();
                ++least;  // what it has just replaced it never sees again
                ++seen.updates;
                until_update = reads_per_update_;
            }
        }
        still = until_update;
        return seen;
    }

    /// Reads so often, and returns how many were torn or older than `least`, which the newest one becomes. In
    /// a loop of its own: beside an update GCC kept the count of reads in memory, where taking one off lasts
    /// as long as a whole read of liburcu_qsbr.
    static std::uint64_t wrong_of(typename C::Reader& reader, std::uint64_t reads, std::uint64_t& least) {
        std::uint64_t newest = least;
        std::uint64_t wrong = 0;
        for (; reads != 0; --reads) {
            const std::uint64_t version = reader.read(version_of);
            if (version == Record::torn || version < newest) [[unlikely]] {
                ++wrong;
            } else {
                newest = version;
            }
        }
        least = newest;
        return wrong;
    }

    /// One for the launch: what libraries free later, from 10 ms on, falls into later batches.
    OwnLines lines_;
    unsigned threads_;
    std::uint64_t reads_per_update_;
    std::uint64_t updates_ = 0;
    std::vector<Seen> seen_;
    std::vector<std::uint64_t> until_update_;
    latency::TiedCrew crew_;  ///< last: its threads are gone before what they use
};

}  // namespace toll::read_mostly
