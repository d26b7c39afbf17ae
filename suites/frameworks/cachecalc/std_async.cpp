#include "waiting.hpp"

#include <future>
#include <queue>

struct StdAsync {
    explicit StdAsync(const toll::cachecalc::Inputs& inputs) : most_at_once_(inputs.threads) {}

    void run(toll::cachecalc::Load& load) {
        std::queue<std::future<void>> running;
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            if (running.size() == most_at_once_) {
                running.front().get();
                running.pop();
            }
            running.push(std::async(std::launch::async, [this, &load, task] { task_(load, task); }));
        }
        for (; !running.empty(); running.pop()) { running.front().get(); }
    }
    toll::Footing footing() const { return task_.footing(); }

    unsigned most_at_once_;
    toll::cachecalc::BlockingTask<toll::cachecalc::ReadDevZero> task_;
};

TOLL_CONTENDER(cachecalc, std_async, StdAsync);
