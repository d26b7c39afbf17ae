namespace far {

struct Big {
    unsigned char bytes[4096];
};

namespace {

constexpr Big filled(unsigned factor) {
    Big made{};
    for (unsigned index = 0; index < 4096; ++index) {
        made.bytes[index] = static_cast<unsigned char>(index * factor >> 3);
    }
    // Deep in the table, only copied, never named.
    // MUTATE[BM_Whole]: 4088] = 17 => 4088] = 19
    made.bytes[4088] = 17;
    // MUTATE[BM_Whole, BM_Instruction]: = 18 => = 20
    made.bytes[1008] = 18;
    return made;
}

}  // namespace

extern const Big big;
extern const Big other_big;
// MUTATE[BM_Whole, BM_Instruction]: (11) => (12)
constexpr Big big = filled(11);
constexpr Big other_big = filled(13);

}  // namespace far
