#include "both.hpp"
#include "descriptors.hpp"

#include <algorithm>

/// Two pipes, one each way. For long messages they are made as large as the kernel allows without asking.
class Pipe {
public:
    static constexpr double copies = 2;  // into the kernel and out of it

    explicit Pipe(const toll::ipc::Plan& plan) : plan_(plan) {
        for (Way& way : ways_) {
            std::array<int, 2> ends{-1, -1};
            toll::ipc::check_call(::pipe2(ends.data(), O_CLOEXEC | (plan.polling ? O_NONBLOCK : 0)), "pipe2");
            way = {{ends[0], "pipe2"}, {ends[1], "pipe2"}};
            // Refused where pipe-max-size or pipe-user-pages-soft says less: the footing tells what it has.
            if (plan.bytes > usual_room) { (void)::fcntl(ends[1], F_SETPIPE_SZ, most_room); }
        }
        const int room = ::fcntl(ways_[0].write.get(), F_GETPIPE_SZ);
        toll::ipc::check_call(room, "F_GETPIPE_SZ");
        room_ = static_cast<std::size_t>(room);
    }

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return std::max<std::uint64_t>(1, room_ / plan_.bytes);
    }
    [[nodiscard]] toll::Footing footing() const { return {{"pipe_bytes", room_}}; }

    class End {
    public:
        End(const Pipe& pipe, toll::ipc::Side side)
            : plan_(pipe.plan_),
              out_(pipe.ways_[index_of(side)].write.get()),
              in_(pipe.ways_[index_of(other(side))].read.get()) {}
        void send(std::span<const std::byte> message) const {
            const auto write = [this](const std::byte* from, std::size_t size) {
                return ::write(out_, from, size);
            };
            toll::ipc::transfer_all(message, "write", write, [this] { plan_.relax(); });
        }
        void receive(std::span<std::byte> message) const {
            const auto read = [this](std::byte* to, std::size_t size) { return ::read(in_, to, size); };
            toll::ipc::transfer_all(message, "read", read, [this] { plan_.relax(); });
        }

    private:
        toll::ipc::Plan plan_;
        int out_;
        int in_;
    };

private:
    static constexpr std::size_t usual_room = std::size_t{64} * 1024;
    static constexpr int most_room = 1024 * 1024;  // pipe(7): /proc/sys/fs/pipe-max-size, unless changed

    struct Way {
        toll::ipc::OwnedDescriptor read;
        toll::ipc::OwnedDescriptor write;
    };
    toll::ipc::Plan plan_;
    std::array<Way, 2> ways_;
    std::size_t room_ = 0;  ///< of one pipe
};

TOLL_IPC_CONTENDER(pipe, Pipe);
