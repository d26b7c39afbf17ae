#pragma once

// What the Folly contenders share.

#include "workload.hpp"

#include <folly/Singleton.h>
#include <folly/executors/CPUThreadPoolExecutor.h>
#include <folly/executors/StrandExecutor.h>

#include <memory>

namespace toll::cachecalc {

inline constexpr const char* folly_waits =
    "Folly's timer wheel, in a thread of its own; an idle thread sleeps";

/// A pool and a strand on it: what is sent there runs one at a time.
class FollyStrand {
public:
    explicit FollyStrand(const Inputs& inputs)
        : pool_(std::make_shared<folly::CPUThreadPoolExecutor>(inputs.threads)),
          strand_(folly::StrandExecutor::create(folly::StrandContext::create(),
                                                folly::getKeepAliveToken(pool_.get()))) {
        // What folly::Init does for the timers, without its signal handlers and flags.
        folly::SingletonVault::singleton()->registrationComplete();
    }

    [[nodiscard]] folly::Executor::KeepAlive<> strand() const { return strand_; }

private:
    std::shared_ptr<folly::CPUThreadPoolExecutor> pool_;
    folly::Executor::KeepAlive<> strand_;  // last: let go of before the pool
};

}  // namespace toll::cachecalc
