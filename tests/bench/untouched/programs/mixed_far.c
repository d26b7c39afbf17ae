struct Account {
    int number;
    double balance;
    char owner[12];
};

const struct Account c_accounts[3] = {
    {1, 100.0, "ann"},
    // MUTATE[BM_Interests]: 250.5 => 250.75
    {2, 250.5, "bob"},
    // MUTATE[BM_Interests]: "cleo" => "dora"
    {3, -20.25, "cleo"},
};

unsigned c_hash(const char* text) {
    // MUTATE[BM_Hashes]: 5381 => 5383
    unsigned hash = 5381;
    // MUTATE[BM_Hashes]: hash * 33 => hash * 31
    while (*text != '\0') { hash = hash * 33 ^ (unsigned char)*text++; }
    return hash;
}

double c_interest(const struct Account* account) {
    // MUTATE[BM_Interests]: < 0 => < 200
    double rate = account->balance < 0 ? 0.12 : 0.015;
    // MUTATE[BM_Interests]: + account->owner[0] => + account->owner[1]
    return account->balance * rate + account->owner[0] + account->number;
}

int c_sorted(int* numbers, int count) {
    int swaps = 0;
    for (int index = 1; index < count; ++index) {
        // MUTATE[BM_Sorts]: > numbers[place] => >= numbers[place]
        for (int place = index; place > 0 && numbers[place - 1] > numbers[place]; --place) {
            int held = numbers[place];
            numbers[place] = numbers[place - 1];
            numbers[place - 1] = held;
            // MUTATE[BM_Sorts]: ++swaps => swaps += 2
            ++swaps;
        }
    }
    return swaps;
}
