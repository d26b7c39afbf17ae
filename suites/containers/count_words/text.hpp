#pragma once

// The words that are counted: a file's, read where it lies, or a generated list.

#include <toll/errors.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace toll::count_words {

/// A file's bytes, mapped: they stand in the page cache once, whoever else reads them.
class MappedFile {
public:
    /// Throws Unsupported with a sentence that names the file.
    explicit MappedFile(const std::string& path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) { throw Unsupported("cannot read " + path + ": " + reason()); }
        struct stat about{};
        const bool known = ::fstat(file, &about) == 0;
        if (known && S_ISREG(about.st_mode) && about.st_size > 0) {
            bytes_ = static_cast<std::size_t>(about.st_size);
            at_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
        }
        const std::string why = at_ == MAP_FAILED ? reason() : "";
        ::close(file);
        if (!known || !S_ISREG(about.st_mode)) { throw Unsupported(path + " is not a file"); }
        if (about.st_size == 0) { throw Unsupported(path + " is empty: there are no words to count"); }
        if (at_ == MAP_FAILED) { throw Unsupported("cannot map " + path + ": " + why); }
        ::madvise(at_, bytes_, MADV_SEQUENTIAL);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() { ::munmap(at_, bytes_); }

    [[nodiscard]] std::string_view text() const noexcept { return {static_cast<const char*>(at_), bytes_}; }

private:
    static std::string reason() { return std::generic_category().message(errno); }

    void* at_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Whether a word is valid UTF-8 (RFC 3629: shortest forms, no surrogates, up to U+10FFFF).
[[nodiscard]] inline bool is_utf8(std::string_view word) noexcept {
    if (std::none_of(word.begin(), word.end(), [](char byte) { return (byte & 0x80) != 0; })) { return true; }
    for (std::size_t at = 0; at < word.size();) {
        const auto byte = [&](std::size_t index) {
            return index < word.size() ? static_cast<unsigned char>(word[index]) : 0U;
        };
        const unsigned lead = byte(at);
        const std::size_t more = lead < 0x80 ? 0 : lead < 0xC2 ? 4 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        if (more == 4 || lead > 0xF4) { return false; }
        for (std::size_t i = 1; i <= more; ++i) {
            if ((byte(at + i) & 0xC0U) != 0x80) { return false; }
        }
        const unsigned second = byte(at + 1);
        if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
            (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
            return false;
        }
        at += more + 1;
    }
    return true;
}

/// Where the words of a text stand. A word is a longest run of bytes other than ASCII white space (space, \t,
/// \n, \v, \f, \r); bytes beyond ASCII belong to words and are compared as they are, valid UTF-8 or not.
/// Reads the text once; takes 4 bytes a word. The text must outlive it.
class Words {
public:
    static constexpr std::size_t longest = std::numeric_limits<std::uint16_t>::max();

    /// `name` is for the sentence. Throws Unsupported for a NUL byte, a word of more than `longest` bytes,
    /// and a text without words.
    Words(std::string_view text, const std::string& name) : text_(text) {
        std::size_t word_end = 0;
        for (std::size_t at = 0; at < text_.size();) {
            if (is_space(text_[at])) {
                ++at;
                continue;
            }
            const std::string_view word = word_at(at, name);
            append(at - word_end, word);
            at += word.size();
            word_end = at;
        }
        if (words_ == 0) { throw Unsupported(name + " holds white space only: there are no words to count"); }
    }

    [[nodiscard]] std::size_t size() const noexcept { return words_; }
    [[nodiscard]] std::uint64_t letters() const noexcept { return letters_; }
    /// Words that are no valid UTF-8; they are counted by their bytes like all others.
    [[nodiscard]] std::uint64_t not_utf8() const noexcept { return not_utf8_; }

    /// Calls visit(word) for each in order, until it returns false.
    template <class Visit>
    void each(Visit&& visit) const {
        const char* at = text_.data();
        for (const auto& chunk : chunks_) {
            for (const Step step : chunk) {
                at += step.gap;
                if (step.length == 0) { continue; }
                if (!visit(std::string_view(at, step.length))) { return; }
                at += step.length;
            }
        }
    }

private:
    struct Step {
        std::uint16_t gap;     ///< bytes from the end of the word before
        std::uint16_t length;  ///< of the word; 0: only a part of a long gap
    };
    static constexpr std::size_t steps_a_chunk = std::size_t{1} << 18;

    static bool is_space(char byte) noexcept { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

    /// The word that begins at `begin`.
    [[nodiscard]] std::string_view word_at(std::size_t begin, const std::string& name) const {
        std::size_t end = begin;
        for (; end < text_.size(); ++end) {
            // One comparison for nearly all bytes: what is white space, and NUL, is not above the space.
            if (static_cast<unsigned char>(text_[end]) > ' ') { continue; }
            if (is_space(text_[end])) { break; }
            if (text_[end] == '\0') {
                throw Unsupported(name + " is not a text: it has a NUL byte at offset " +
                                  std::to_string(end));
            }
        }
        if (end - begin > longest) {
            throw Unsupported(name + " is not a text of words: the one at offset " + std::to_string(begin) +
                              " is longer than " + std::to_string(longest) + " bytes");
        }
        return text_.substr(begin, end - begin);
    }

    void append(std::size_t gap, std::string_view word) {
        for (; gap >= longest; gap -= longest) { append({longest, 0}); }
        append({static_cast<std::uint16_t>(gap), static_cast<std::uint16_t>(word.size())});
        ++words_;
        letters_ += word.size();
        not_utf8_ += is_utf8(word) ? 0 : 1;
    }

    /// In chunks, because one vector that grows would need three times as much for a moment.
    void append(Step step) {
        if (chunks_.empty() || chunks_.back().size() == steps_a_chunk) {
            chunks_.emplace_back().reserve(steps_a_chunk);
        }
        chunks_.back().push_back(step);
    }

    std::string_view text_;
    std::vector<std::vector<Step>> chunks_;
    std::size_t words_ = 0;
    std::uint64_t letters_ = 0;
    std::uint64_t not_utf8_ = 0;
};

}  // namespace toll::count_words
