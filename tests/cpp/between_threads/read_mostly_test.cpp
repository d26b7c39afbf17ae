#include "read_mostly/workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace read_mostly = toll::read_mostly;
using read_mostly::Record;

/// The answer of one batch, and what it should be.
template <class C>
std::pair<toll::Checksum, toll::Checksum> batch(unsigned threads, unsigned reads_per_update,
                                                std::uint64_t reads) {
    using Workload = read_mostly::Workload<C>;
    static const auto parameters = Workload::parameters();
    const std::string how_many = "threads=" + std::to_string(threads);
    const std::string how_often = "reads_per_update=" + std::to_string(reads_per_update);
    const std::array<std::string_view, 2> words{how_many, how_often};
    Workload workload(toll::Arguments(parameters, words));
    const toll::Checksum answer = workload.run(reads);
    return {answer, workload.expected(reads)};
}

using OneLock = read_mostly::Guarded<std::mutex>;
using SharedLock = read_mostly::Guarded<std::shared_mutex>;

/// A lock and a record, which `Wrong` spoils in its own way.
template <class Wrong>
class Spoiled {
public:
    using Reader = read_mostly::PlainReader<Spoiled>;
    template <class Look>
    auto read(Look look) {
        const std::scoped_lock held{lock_};
        return look(Wrong::seen(record_));
    }
    void update() {
        const std::scoped_lock held{lock_};
        ++updates_;
        if (!Wrong::loses(updates_)) { record_.renew(); }
    }

private:
    std::mutex lock_;
    Record record_;
    std::uint64_t updates_ = 0;
};

/// One word is not of the others' version.
template <std::size_t word>
struct Torn {
    static Record seen(const Record& record) {
        Record::Words words;
        words.fill(record.version());
        ++words.at(word);
        return Record{words};
    }
    static bool loses(std::uint64_t) { return false; }
};

/// The second update changes nothing.
struct Losing {
    static Record seen(const Record& record) { return record; }
    static bool loses(std::uint64_t number) { return number == 2; }
};

/// Shows the first record again and again.
struct Stale {
    static Record seen(const Record& record) { return ++times % 2 == 0 ? Record{} : record; }
    static bool loses(std::uint64_t) { return false; }
    static inline std::atomic<std::uint64_t> times{0};
};

/// Notes after how many of its own reads each thread replaces the record.
class Noting {
public:
    class Reader {
    public:
        explicit Reader(Noting& shared) : shared_(shared) {}
        template <class Look>
        auto read(Look look) {
            ++reads_;
            return shared_.guarded_.read(look);
        }
        void update() {
            shared_.guarded_.update();
            const std::scoped_lock held{shared_.lock_};
            after.push_back(reads_);
        }

    private:
        Noting& shared_;
        std::uint64_t reads_ = 0;
    };
    static inline std::vector<std::uint64_t> after;

private:
    OneLock guarded_;
    std::mutex lock_;
};

/// Reads once in a batch, and shows that ever after.
class Keeping {
public:
    class Reader {
    public:
        explicit Reader(Keeping& shared) : shared_(shared) {}
        template <class Look>
        auto read(Look look) {
            if (!has_read_) {
                kept_ = shared_.guarded_.read([](const Record& record) { return record; });
                has_read_ = true;
            }
            return look(std::as_const(kept_));
        }
        void update() { shared_.guarded_.update(); }

    private:
        Keeping& shared_;
        bool has_read_ = false;
        Record kept_;
    };

private:
    OneLock guarded_;
};

/// The answers of batches of 20 reads on one workload with an update each 30 reads.
template <class C>
std::vector<toll::Checksum> batches(unsigned count) {
    using Workload = read_mostly::Workload<C>;
    static const auto parameters = Workload::parameters();
    const std::array<std::string_view, 2> words{"threads=1", "reads_per_update=30"};
    Workload workload(toll::Arguments(parameters, words));
    std::vector<toll::Checksum> answers;
    answers.reserve(count);
    for (unsigned i = 0; i < count; ++i) { answers.push_back(workload.run(20)); }
    return answers;
}

/// The first record that any reader of the process saw, in all batches.
class Frozen {
public:
    class Reader {
    public:
        explicit Reader(Frozen& shared) : shared_(shared) {}
        template <class Look>
        auto read(Look look) {
            // Who looks after a batch is told the truth, so that no update seems lost.
            return ++reads % 21 == 0 ? shared_.guarded_.read(look) : look(std::as_const(shared_.first_));
        }
        void update() { shared_.guarded_.update(); }

    private:
        Frozen& shared_;
    };
    static inline std::uint64_t reads = 0;

private:
    OneLock guarded_;
    Record first_;
};

}  // namespace

TEST_CASE("reads until the next update go on from batch to batch") {
    Noting::after.clear();
    CHECK(batches<Noting>(3) == std::vector<toll::Checksum>{20, 20, 20});
    CHECK(Noting::after == std::vector<std::uint64_t>{10, 20});
}

TEST_CASE("who never sees a later record has another answer") {
    CHECK(batch<Keeping>(1, 30, 100).first == 30);
    // All of the first batch, half of the second, before it replaces the record itself, and none of the
    // third.
    CHECK(batches<Frozen>(3) == std::vector<toll::Checksum>{20, 10, 0});
}

TEST_CASE_TEMPLATE("each read of a whole record counts", C, OneLock, SharedLock) {
    for (const unsigned threads : {1U, 2U, 4U}) {
        for (const unsigned reads_per_update : {1U, 7U, 1'000'000U}) {
            CAPTURE(threads);
            CAPTURE(reads_per_update);
            const auto [found, expected] = batch<C>(threads, reads_per_update, 1'001);
            CHECK(expected == 1'001);
            CHECK(found == expected);
        }
    }
}

TEST_CASE("a record is torn where any of its words differs") {
    CHECK(Record{}.version() == 0);
    CHECK(Record{}.next().next().version() == 2);
    CHECK(Torn<0>::seen(Record{}).version() == Record::torn);
    CHECK(Torn<1>::seen(Record{}).version() == Record::torn);
    CHECK(Torn<2>::seen(Record{}).version() == Record::torn);
    CHECK(Torn<3>::seen(Record{}).version() == Record::torn);
}

TEST_CASE_TEMPLATE("what reads torn or old records, or loses an update, has another answer", Wrong, Torn<0>,
                   Torn<3>, Losing, Stale) {
    for (const unsigned threads : {1U, 2U}) {
        CAPTURE(threads);
        const auto [found, expected] = batch<Spoiled<Wrong>>(threads, 3, 100);
        CHECK(found != expected);
    }
}

TEST_CASE("threads replace the record evenly apart") {
    const auto after_reads = [](unsigned threads, std::uint64_t reads) {
        Noting::after.clear();
        const auto [found, expected] = batch<Noting>(threads, 30, reads);
        CHECK(found == expected);
        std::ranges::sort(Noting::after);
        return Noting::after;
    };
    CHECK(after_reads(1, 100) == std::vector<std::uint64_t>{30, 60, 90});
    CHECK(after_reads(2, 60) == std::vector<std::uint64_t>{15, 30});
    CHECK(after_reads(2, 40) == std::vector<std::uint64_t>{15});
}
