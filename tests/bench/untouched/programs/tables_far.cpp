namespace far {

struct Rate {
    double factor;
    int above;
    char letter;
};

extern const Rate rates[5];
extern const short grid[4][6];

const Rate rates[5] = {
    // MUTATE[BM_Rates]: 1.25 => 1.5
    {1.25, 0, 'a'},
    // MUTATE[BM_Rates]: 'b' => 'B'
    {0.5, 10, 'b'},
    // MUTATE[BM_Rates]: 20 => 22
    {1.125, 20, 'c'},
    {0.75, 30, 'd'},
    // MUTATE[BM_Rates]: 1.0625 => 1.0626
    {1.0625, 40, 'e'},
};

const short grid[4][6] = {
    // MUTATE[BM_Grid]: {1, 2 => {2, 1
    {1, 2, 3, 4, 5, 6},
    {-1, 4, -9, 16, -25, 36},
    // MUTATE[BM_Grid]: 1, 1, 2, 3 => 1, 1, 2, 4
    {0, 1, 1, 2, 3, 5},
    // MUTATE[BM_Grid]: 13} => 14}
    {2, 3, 5, 7, 11, 13},
};

}  // namespace far
