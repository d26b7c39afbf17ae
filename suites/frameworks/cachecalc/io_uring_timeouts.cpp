#include "uring.hpp"

#include <cerrno>
#include <system_error>

/// One thread and its ring: a timeout of the kernel for each task that waits, handed over when the ring is
/// full of them or nothing else is left to do.
struct IoUringTimeouts {
    explicit IoUringTimeouts(const toll::cachecalc::Inputs& inputs)
        : ring_(toll::cachecalc::ring_for(inputs, entries)),
          wait_(toll::cachecalc::timespec_of(inputs.wait)) {}

    void run(toll::cachecalc::Load& load) {
        std::uint64_t waiting = 0;
        for (std::uint64_t task = 0; task < load.tasks(); ++task) {
            io_uring_sqe* entry = nullptr;
            while ((entry = ::io_uring_get_sqe(ring_.get())) == nullptr) {
                submit(0);
                waiting -= finish(load);
            }
            load.compute();
            load.wait_begins(task);
            ::io_uring_prep_timeout(entry, &wait_, 0, 0);
            entry->user_data = task;
            ++waiting;
        }
        while (waiting > 0) {
            submit(1);
            waiting -= finish(load);
        }
    }
    [[nodiscard]] toll::Footing footing() const {
        return {{"waits", "a timeout of the kernel each, asked for 256 at a time; the thread runs others"},
                {"completions", ring_.completions()}};
    }

private:
    static constexpr unsigned entries = 256;

    void submit(unsigned at_least) {
        int error = 0;
        do { error = ::io_uring_submit_and_wait(ring_.get(), at_least); } while (error == -EINTR);
        if (error < 0) { throw std::system_error(-error, std::generic_category(), "io_uring"); }
    }

    /// The second half of the tasks whose timeout has come; how many there were.
    unsigned finish(toll::cachecalc::Load& load) {
        unsigned finished = 0;
        for (io_uring_cqe* done = nullptr; ::io_uring_peek_cqe(ring_.get(), &done) == 0; ++finished) {
            if (done->res != -ETIME) {
                throw std::system_error(-done->res, std::generic_category(), "a timeout of io_uring");
            }
            const std::uint64_t task = done->user_data;
            ::io_uring_cqe_seen(ring_.get(),
                                done);  // before the computation: others want its place meanwhile
            load.wait_ended(task);
            load.compute();
        }
        return finished;
    }

    toll::OneThreadRing ring_;
    __kernel_timespec wait_;
};

TOLL_CONTENDER(cachecalc, io_uring_timeouts, IoUringTimeouts);
