#include "answers.hpp"

namespace far {

using untouched::Answer;

const char* colour(unsigned number) {
    switch (number) {
        // MUTATE[BM_Colours]: "red" => "rot"
        case 0: return "red";
        case 1: return "green";
        // MUTATE[BM_Colours]: "infrared" => "ultrared"
        case 2: return "infrared";
        case 3: return "evergreen";
        // MUTATE[BM_Colours]: "blue" => "grey"
        case 4: return "blue";
        default: return "none";
    }
}

Answer price(unsigned number) {
    switch (number) {
        // MUTATE[BM_Prices]: 199 => 189
        case 0: return 199;
        // MUTATE[BM_Prices]: 250 => 251
        case 1: return 250;
        case 2: return 1'000'003;
        // MUTATE[BM_Prices]: 7 => 8
        case 3: return 7;
        case 4: return 12'345;
        case 5: return 8;
        // MUTATE[BM_Prices]: 64 => 65
        case 6: return 64;
        // MUTATE[BM_Prices]: return 1 => return 2
        default: return 1;
    }
}

}  // namespace far
