#pragma once

// What a launch counts: read or made once a process, with its reference answer.

#include "reference.hpp"
#include "text.hpp"
#include "word_list.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace toll::count_words {

class Input {
public:
    /// The words of the file at `path`, or the generated list where that is empty. Throws Unsupported.
    Input(const std::string& path, std::size_t group)
        : file_(path.empty() ? nullptr : std::make_unique<MappedFile>(path)),
          list_(path.empty() ? word_list(list_for_group(group)) : ""),
          words_(file_ ? file_->text() : std::string_view(list_), path.empty() ? "the word list" : path),
          reference_(reference_answer(words_, group)) {}

    [[nodiscard]] const Words& words() const noexcept { return words_; }
    [[nodiscard]] const Reference& reference() const noexcept { return reference_; }

private:
    std::unique_ptr<MappedFile> file_;
    std::string list_;
    Words words_;
    Reference reference_;
};

/// The input of this launch: a new layout re-makes the contender's state, and reads nothing again.
[[nodiscard]] inline std::shared_ptr<const Input> input_of_launch(const std::string& path,
                                                                  std::size_t group) {
    struct Known {
        std::string path;
        std::size_t group = 0;
        std::shared_ptr<const Input> input;
    };
    static Known known;
    if (!known.input || known.path != path || known.group != group) {
        known = {};  // before the next one is read: both together might not fit
        known = {path, group, std::make_shared<const Input>(path, group)};
    }
    return known.input;
}

}  // namespace toll::count_words
