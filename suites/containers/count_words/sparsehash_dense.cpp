#include "sparsehash.hpp"
#include "workload.hpp"

#include <sparsehash/dense_hash_map>

using Map = google::dense_hash_map<std::string, int, toll::count_words::WordHash>;

struct SparsehashDense : toll::count_words::SparsehashKeyed<Map> {
    // No word is empty.
    explicit SparsehashDense(std::size_t) { container_.set_empty_key(""); }
    void clear() { container_.clear_no_resize(); }
};

TOLL_CONTENDER(count_words, sparsehash_dense, SparsehashDense);
