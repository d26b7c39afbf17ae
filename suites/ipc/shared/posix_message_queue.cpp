#include "both.hpp"
#include "descriptors.hpp"
#include "left_behind.hpp"

#include <mqueue.h>

#include <algorithm>
#include <string>
#include <system_error>

/// Two queues, one each way, which lose their names before the first message: both sides inherit the
/// descriptors.
class PosixMessageQueue {
public:
    static constexpr double copies = 2;  // into the kernel and out of it

    explicit PosixMessageQueue(const toll::ipc::Plan& plan) : plan_(plan) {
        mq_attr shape{};
        shape.mq_maxmsg = places;  // mq_overview(7): what everybody may ask for, unless it was changed
        shape.mq_msgsize = static_cast<long>(std::min(plan.bytes, most));
        toll::ipc::Record record(toll::ipc::Record::Kind::message_queue, ::mq_unlink);
        for (auto& queue : queues_) {
            const std::string name = "/" + toll::ipc::new_name();
            const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | (plan.polling ? O_NONBLOCK : 0);
            record.will_make(name);
            const mqd_t made = ::mq_open(name.c_str(), flags, 0600, &shape);
            if (made < 0) {
                throw toll::Unsupported("the kernel gives no queue of " + std::to_string(places) +
                                        " messages of " + std::to_string(shape.mq_msgsize) +
                                        " bytes: " + std::generic_category().message(errno) +
                                        " (fs.mqueue.msg_max, msgsize_max, queues_max; `ulimit -q`)");
            }
            queue = {made, "mq_open"};
            ::mq_unlink(name.c_str());
        }
    }

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return std::max<std::uint64_t>(1, places / ((plan_.bytes + most - 1) / most));
    }

    class End {
    public:
        End(const PosixMessageQueue& channel, toll::ipc::Side side)
            : plan_(channel.plan_),
              out_(channel.queues_[index_of(side)].get()),
              in_(channel.queues_[index_of(other(side))].get()) {}
        void send(std::span<const std::byte> message) const {
            toll::ipc::in_parts(message, most, [this](std::span<const std::byte> part) {
                const auto send = [this](const std::byte* from, std::size_t size) -> ssize_t {
                    return ::mq_send(out_, reinterpret_cast<const char*>(from), size, 0) == 0
                               ? static_cast<ssize_t>(size)
                               : -1;
                };
                toll::ipc::transfer_all(part, "mq_send", send, [this] { plan_.relax(); });
            });
        }
        /// A place for a message has to be as long as the queue's longest: so is each part but the last one.
        void receive(std::span<std::byte> message) {
            toll::ipc::in_parts(message, most, [this](std::span<std::byte> part) {
                const bool whole = part.size() == std::min(plan_.bytes, most);
                const auto receive = [this, whole](std::byte* to, std::size_t size) {
                    return ::mq_receive(in_, reinterpret_cast<char*>(whole ? to : last_.data()),
                                        whole ? size : last_.size(), nullptr);
                };
                toll::ipc::transfer_all(part, "mq_receive", receive, [this] { plan_.relax(); });
                if (!whole) { std::copy_n(last_.begin(), part.size(), part.begin()); }
            });
        }

    private:
        toll::ipc::Plan plan_;
        int out_;
        int in_;
        std::vector<std::byte> last_ = std::vector<std::byte>(most);
    };

private:
    static constexpr std::size_t most = 8192;  // likewise
    static constexpr long places = 10;
    toll::ipc::Plan plan_;
    std::array<toll::ipc::OwnedDescriptor, 2> queues_;  // mqd_t is a descriptor in Linux
};

TOLL_IPC_CONTENDER(posix_message_queue, PosixMessageQueue);
