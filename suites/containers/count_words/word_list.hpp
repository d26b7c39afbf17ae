#pragma once

// A word list with the numbers of the document's input, the source code of its own test program: 40,743
// words, 1,409 unique, 6 letters on average, 39 at most.

#include <toll/layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace toll::count_words {

/// How large a list is; the document's by default.
struct ListSize {
    std::size_t words = 40'743;
    std::size_t unique = 1'409;
};

/// The list that offers a container of `group` elements more words than it takes: the document's up to its
/// largest group of 1,000, and beyond that one that is as many times larger.
[[nodiscard]] inline ListSize list_for_group(std::size_t group) {
    constexpr std::size_t largest_of_document = 1'000;
    const std::size_t times =
        std::max<std::size_t>(1, (group + largest_of_document - 1) / largest_of_document);
    return {ListSize{}.words * times, ListSize{}.unique * times};
}

/// How often the word of each rank occurs, every word at least once, `words` in all. A few common words make
/// up nearly half of the list, by Zipf's law, as braces and keywords do in a program's source; the others
/// differ little. With these numbers groups of 100, 500 and 1,000 fill 72, 13 and 6 times, as the document's
/// counts of allocations say of its list: Zipf's law alone, with any exponent, gives too many of the first or
/// too few of the last.
[[nodiscard]] inline std::vector<std::size_t> word_counts(ListSize size) {
    constexpr std::size_t common = 20;
    constexpr double share_of_common = 0.48;
    constexpr double exponent_of_others = 0.2;
    std::vector<double> weights(size.unique);
    double sum = 0;
    for (std::size_t rank = 0; rank < size.unique; ++rank) {
        sum += weights[rank] = std::pow(static_cast<double>(rank + 1), -exponent_of_others);
    }
    for (double& weight : weights) { weight *= (1 - share_of_common) / sum; }
    double sum_of_common = 0;
    for (std::size_t rank = 0; rank < common; ++rank) {
        sum_of_common += 1.0 / static_cast<double>(rank + 1);
    }
    for (std::size_t rank = 0; rank < std::min(common, size.unique); ++rank) {
        weights[rank] += share_of_common / sum_of_common / static_cast<double>(rank + 1);
    }
    std::vector<std::size_t> counts(size.unique);
    std::size_t given = 0;
    for (std::size_t rank = 0; rank < size.unique; ++rank) {
        const double share = weights[rank] * static_cast<double>(size.words);
        counts[rank] = std::max<std::size_t>(1, static_cast<std::size_t>(share));
        given += counts[rank];
    }
    // What rounding left over, one for each of the ranks in turn.
    for (std::size_t rank = 0; given < size.words; rank = (rank + 1) % size.unique, ++given) {
        ++counts[rank];
    }
    return counts;
}

/// Unlike words of consonants and vowels, frequent ones shorter.
[[nodiscard]] inline std::vector<std::string> vocabulary(std::size_t unique) {
    constexpr std::size_t longest = 39;
    const std::string consonants = "bcdfghjklmnpqrstvwxyz";
    const std::string vowels = "aeiou";
    Random random(2015);
    std::vector<std::string> words;
    std::unordered_set<std::string> known;
    while (words.size() < unique) {
        const auto rank = static_cast<double>(words.size() + 1);
        // More letters by rank, 0 to 5 by chance, and one word in 40 as if made of several.
        std::size_t letters = 1 + static_cast<std::size_t>(std::log2(rank) * 0.53) + random.below(6);
        if (random.below(40) == 0) {
            letters = std::min<std::size_t>(longest, letters * (2 + random.below(4)));
        }
        if (words.size() == unique / 2) { letters = longest; }
        std::string word;
        while (word.size() < letters) {
            const std::string& from = word.size() % 2 == 0 ? consonants : vowels;
            word += from[random.below(from.size())];
        }
        if (known.insert(word).second) { words.push_back(std::move(word)); }
    }
    return words;
}

/// The words in a fixed random order, ten to a line.
[[nodiscard]] inline std::string word_list(ListSize size) {
    const std::vector<std::size_t> counts = word_counts(size);
    const std::vector<std::string> words = vocabulary(size.unique);
    std::vector<std::uint32_t> order;
    order.reserve(size.words);
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
        order.insert(order.end(), counts[rank], static_cast<std::uint32_t>(rank));
    }
    Random random(40743);
    for (std::size_t i = order.size(); i > 1; --i) { std::swap(order[i - 1], order[random.below(i)]); }
    std::string text;
    for (std::size_t i = 0; i < order.size(); ++i) {
        text += words[order[i]];
        text += i % 10 == 9 ? '\n' : ' ';
    }
    return text;
}

}  // namespace toll::count_words
