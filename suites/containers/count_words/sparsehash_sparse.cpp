#include "sparsehash.hpp"
#include "workload.hpp"

#include <sparsehash/sparse_hash_map>

using Map = google::sparse_hash_map<std::string, int, toll::count_words::WordHash>;

struct SparsehashSparse : toll::count_words::SparsehashKeyed<Map> {
    explicit SparsehashSparse(std::size_t) {}
};

TOLL_CONTENDER(count_words, sparsehash_sparse, SparsehashSparse);
