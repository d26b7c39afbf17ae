// The library's parts without its main function: time something in one's own program.
#include <toll/batch.hpp>
#include <toll/clock.hpp>
#include <toll/threads.hpp>

#include <cstdio>

int main() {
    const toll::Clock clock = toll::Clock::system();
    const toll::Batch batch =
        toll::time_batch(clock, toll::Counters(), [] { return toll::repeat(1000, [] { return 1; }); });
    std::printf("%zu CPUs, checksum %llu\n", toll::usable_cpus().size(),
                static_cast<unsigned long long>(batch.checksum));
    return batch.checksum == 1000 && batch.wall_ns > 0 ? 0 : 1;
}
