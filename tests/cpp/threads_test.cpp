#include "toll/threads.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "few_threads.hpp"
#include "toll/errors.hpp"

TEST_CASE("usable CPUs are ascending and hold where we run") {
    const auto& cpus = toll::usable_cpus();
    REQUIRE(!cpus.empty());
    CHECK(std::ranges::is_sorted(cpus));
    CHECK(std::ranges::count(cpus, sched_getcpu()) == 1);
}

TEST_CASE("a pinned thread stays, and its CPUs come back") {
    const std::string former = toll::cpus_of_this_thread();
    const std::vector<int> all = toll::usable_cpus();
    const int last = all.back();
    {
        const toll::PinnedHere here(last);
        CHECK(sched_getcpu() == last);
        CHECK(toll::cpus_of_this_thread() == std::to_string(last));
        CHECK(toll::usable_cpus() == all);
        CHECK(toll::cpus_of_this_thread() != (toll::usable_cpus().size() > 1 ? former : ""));
    }
    CHECK(toll::cpus_of_this_thread() == former);
}

TEST_CASE("a CPU that is not there is unsupported, with its number") {
    for (const int cpu : {-1, 16383, 1 << 20}) {
        CHECK_THROWS_WITH_AS(toll::pin_this_thread(cpu), doctest::Contains(std::to_string(cpu).c_str()),
                             toll::Unsupported);
    }
}

TEST_CASE("a list of CPUs as a footing shows it") {
    CHECK(toll::cpu_list(std::vector{0, 1}) == "0,1");
    CHECK(toll::cpu_list(std::vector{0, 2, 4, 5, 6, 7, 1}) == "0,2,4-7,1");
    CHECK(toll::cpu_list(std::vector{3}) == "3");
    std::vector<int> even(512);
    for (int number = 0; number < 512; ++number) { even[static_cast<std::size_t>(number)] = 2 * number; }
    CHECK(toll::cpu_list(even).size() < 250);  // toll takes texts of up to 1000 letters
    CHECK(toll::cpu_list(even).ends_with(" more"));
}

TEST_CASE("a crew that lacks a thread says which, and lets go of those that it has") {
    for (const int made : {0, 1, 3}) {
        CAPTURE(made);
        toll_test::threads_left = made;
        const std::string which = "thread " + std::to_string(made + 1) + " of 4 cannot be made";
        CHECK_THROWS_WITH_AS(toll::Crew(4), doctest::Contains(which.c_str()), std::system_error);
    }
    toll_test::threads_left = toll_test::any_number;
}

TEST_CASE("no member of a crew begins before all are there, and run() waits for all") {
    constexpr unsigned members = 5;
    toll::Crew crew(members);
    CHECK(crew.members() == members);
    std::atomic<unsigned> inside{0};
    std::atomic<unsigned> most{0};
    std::atomic<unsigned> early{0};
    std::vector<int> visits(members, 0);
    for (int round = 1; round <= 200; ++round) {
        inside = 0;
        crew.run([&](unsigned member) {
            if (crew.arrived() < members) { ++early; }
            ++visits[member];  // no two members share an entry
            ++inside;
            // Every member sees all the others inside: they run side by side, not one after another.
            while (inside.load() < members) { std::this_thread::yield(); }
            ++most;
        });
        REQUIRE(most == members * static_cast<unsigned>(round));
    }
    CHECK(visits == std::vector<int>(members, 200));
    CHECK(early == 0);
}

TEST_CASE("a crew's members are tied to their CPUs") {
    const auto& cpus = toll::usable_cpus();
    toll::Crew crew(4, cpus);
    std::vector<std::string> where(4);
    crew.run([&](unsigned member) { where[member] = toll::cpus_of_this_thread(); });
    for (std::size_t i = 0; i < where.size(); ++i) {
        CHECK(where[i] == std::to_string(cpus[i % cpus.size()]));
    }
}

TEST_CASE("what a member throws arrives, and the crew goes on") {
    toll::Crew crew(3);
    CHECK_THROWS_WITH_AS(crew.run([](unsigned member) {
        if (member == 1) { throw std::runtime_error("member 1"); }
    }),
                         "member 1", std::runtime_error);
    std::atomic<int> ran{0};
    crew.run([&](unsigned) { ++ran; });
    CHECK(ran == 3);
}

TEST_CASE("a crew that cannot be tied ends its threads and says why") {
    const std::vector<int> nowhere{1 << 20};
    CHECK_THROWS_AS(toll::Crew(2, nowhere), toll::Unsupported);
}

TEST_CASE("a crew of nobody does nothing") {
    toll::Crew crew(0);
    crew.run([](unsigned) { throw std::logic_error("nobody is here"); });
}
