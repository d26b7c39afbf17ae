#pragma once

#include "workload.hpp"

#include <thread>
#include <vector>

namespace toll::channel {

/// For contenders whose producers and consumers are operating-system threads.
inline void require_threads(unsigned threads) {
    if (threads < 2) {
        throw Unsupported("a producer and a consumer have a thread each; ask for threads=2 or more");
    }
    if (threads % 2 != 0) {
        throw Unsupported("each thread is a producer or a consumer; ask for an even number of threads");
    }
}

/// Makes a thread for each consumer and each producer. `produce(share)` sends, `consume(index)` returns what
/// it took, and `close(all_sent)`, called once all producers have ended, has the consumers end: also where
/// the machine was out of threads and not everything was sent.
template <class Produce, class Consume, class Close>
Received by_threads(const Inputs& inputs, const Produce& produce, const Consume& consume,
                    const Close& close) {
    std::vector<Received> received(inputs.a_side());
    {
        std::vector<std::jthread> consumers;
        std::vector<std::jthread> producers;
        try {
            for (unsigned i = 0; i < inputs.a_side(); ++i) {
                consumers.emplace_back([&, i] { received[i] = consume(i); });
            }
            for (unsigned i = 0; i < inputs.a_side(); ++i) {
                producers.emplace_back([&, i] { produce(inputs.share(i)); });
            }
        } catch (...) {  // a machine that is out of threads: those that exist must end
            producers.clear();
            close(false);
            throw;
        }
        producers.clear();
        close(true);
    }
    Received all;
    for (const Received& one : received) { all += one; }
    return all;
}

}  // namespace toll::channel
