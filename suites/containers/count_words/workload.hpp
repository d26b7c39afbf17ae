#pragma once

// containers/count_words: count duplicate words with a container that fills up and is cleared now and then.
// Question, engine and the older contenders after Dennis Lang, "C++ STL, Boost and native array Performance
// and Custom Allocator" (2015; see published.toml).

#include "background.hpp"
#include "engine.hpp"
#include "input.hpp"
#include "word_counters.hpp"

#include <toll/allocations.hpp>
#include <toll/contender.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace toll::count_words {

/// One pass over all words is an iteration; a word is a unit. A pass's answer is 1: the program itself
/// compares it with the reference, and a launch with another tally ends as wrong_answer.
template <Counter C>
class Workload {
public:
    static constexpr WorkloadInfo info{"containers/count_words", Kind::batch, "ns", "word"};
    static constexpr bool times_own_thread = true;  ///< the others are there to make memory dearer

    static std::vector<Parameter> parameters() {
        return {{"group", "1000", "words",
                 "most that the container holds; beyond 1,000 the word list grows with it"},
                {"background", "4", "threads",
                 "run the same test beside the timed one, untimed: memory becomes dearer"},
                {"input", "", "",
                 "path of a text file (--input FILE); without one a generated list of 40,743 words, 1,409 "
                 "unique"}};
    }

    explicit Workload(const Arguments& arguments)
        : group_(arguments.number("group", 1, most_group)),
          path_(arguments.text("input")),
          input_(input_of_launch(path_, checked_group(group_))),
          background_(wanted_threads(arguments), [this](const Background::GoOn& go_on) { disturb(go_on); }) {
        check_every_clear();
    }

    /// The load is there while a batch is timed, and no longer: between batches it would keep the requests
    /// waiting for a processor.
    void before_batch() { busy_.emplace(background_); }
    void after_batch() noexcept { busy_.reset(); }

    [[nodiscard]] std::uint64_t units_per_iteration() const noexcept { return input_->words().size(); }
    [[nodiscard]] Checksum expected(std::uint64_t iterations) const noexcept { return iterations; }

    Checksum run(std::uint64_t iterations) {
        for (std::uint64_t i = 0; i < iterations; ++i) {
            C counter(group_);
            check(pass(input_->words(), group_, counter, [](const C&) {}, [] { return true; }));
        }
        background_.check();
        return iterations;
    }

    /// `container_calls`: what one pass's container asks its allocator for, where that counts.
    [[nodiscard]] Details details() const {
        Details details;
        if (container_calls_ >= 0) { details["container_calls"] = container_calls_; }
        return details;
    }

    [[nodiscard]] Footing footing() const {
        Footing footing{
            {"threads", 1},
            {"load_threads", background_.threads()},
            {"words", units_per_iteration()},
            {"letters", input_->words().letters()},
            {"fills", (input_->reference().tally.added + group_ - 1) / group_},  // the last may be a part
            {"found_percent", 100 * input_->reference().tally.duplicates / units_per_iteration()}};
        if (input_->words().not_utf8() > 0) { footing.set({"words_not_utf8", input_->words().not_utf8()}); }
        if (background_.threads() == 0 && can_count_allocations()) {
            footing.set({"background", "none while allocations are counted"});
        }
        return footing;
    }

private:
    static constexpr std::uint64_t most_group = 100'000'000;
    static constexpr std::uint64_t most_background = 1024;

    /// Containers that look at every element, or move many for a new one, say how many are too many.
    static std::size_t checked_group(std::size_t group) {
        if constexpr (requires { C::most_group; }) {
            if (group > C::most_group) {
                throw Unsupported(
                    std::string(C::slow_because) + ": a pass with group=" + std::to_string(group) +
                    " would take minutes; ask for " + std::to_string(C::most_group) + " or less");
            }
        }
        return group;
    }

    /// Counts are of all threads of the process: a counting pass is the timed thread's alone.
    static unsigned wanted_threads(const Arguments& arguments) {
        const auto asked = static_cast<unsigned>(arguments.number("background", 0, most_background));
        return can_count_allocations() ? 0 : asked;
    }

    void disturb(const Background::GoOn& go_on) const {
        unsigned words = 0;
        C counter(group_);
        (void)pass(
            input_->words(), group_, counter, [](const C&) {}, [&] { return ++words % 64 != 0 || go_on(); });
    }

    void check(const Tally& tally) const {
        if (tally != input_->reference().tally) {
            throw WrongAnswer("the words were not counted right: " + std::to_string(tally.added) +
                              " added and " + std::to_string(tally.duplicates) + " found instead of " +
                              std::to_string(input_->reference().tally.added) + " and " +
                              std::to_string(input_->reference().tally.duplicates) +
                              ", or other words or counts at the end");
        }
    }

    /// An untimed pass before all others, which compares the container's whole content at every clear. Where
    /// the container can count its allocator's calls, this pass counts them. Once a process and input: a new
    /// layout makes the contender's state anew, and not what it has to come to.
    void check_every_clear() {
        struct Checked {
            std::weak_ptr<const Input> input;  // keeps none alive: two might not fit into memory
            double container_calls = -1;
        };
        static Checked checked;
        if (checked.input.lock() != input_) { checked = {input_, container_calls_in_checked_pass()}; }
        container_calls_ = checked.container_calls;
    }

    /// -1 where the container cannot tell.
    [[nodiscard]] double container_calls_in_checked_pass() const {
        using Counting = typename Counted<C>::type;
        Counting counter(group_);
        std::uint64_t digest = 0;
        check(pass(
            input_->words(), group_, counter, [&](const Counting& full) { digest += digest_of(full); },
            [] { return true; }));
        if (digest != input_->reference().digest_at_clears) {
            throw WrongAnswer("the container held other words or counts when it was cleared");
        }
        if constexpr (requires { counter.allocator_calls(); }) {
            return static_cast<double>(counter.allocator_calls());
        } else {
            return -1;
        }
    }

    std::size_t group_;
    std::string path_;
    std::shared_ptr<const Input> input_;
    double container_calls_ = -1;
    Background background_;
    std::optional<Background::Busy> busy_;
};

}  // namespace toll::count_words
