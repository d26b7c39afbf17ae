#include "both.hpp"
#include "left_behind.hpp"

#include <boost/interprocess/ipc/message_queue.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string>

/// Boost.Interprocess' queue behind a mutex and two conditions that processes share. Its memory loses its
/// name before the first message.
class BoostMessageQueue {
    using Queue = boost::interprocess::message_queue;

public:
    static constexpr double copies = 2;  // into the queue and out of it

    explicit BoostMessageQueue(const toll::ipc::Plan& plan) : plan_(plan) {
        toll::ipc::Record record(toll::ipc::Record::Kind::shared_memory, remove);
        for (auto& queue : queues_) {
            const std::string name = toll::ipc::new_name();
            record.will_make(name);
            try {
                queue.emplace(boost::interprocess::create_only, name.c_str(), places,
                              std::min(plan.bytes, most));
            } catch (const std::exception& failure) {  // the name is there without its room, and would stay
                remove(name.c_str());
                throw toll::Unsupported("no queue of " + std::to_string(places) + " messages of " +
                                        std::to_string(std::min(plan.bytes, most)) +
                                        " bytes could be made in /dev/shm: " + failure.what() +
                                        "; make room there (`df /dev/shm`, a container's --shm-size)");
            }
            remove(name.c_str());
        }
    }

    [[nodiscard]] std::uint64_t messages_held() const noexcept {
        return std::max<std::uint64_t>(1, places / ((plan_.bytes + most - 1) / most));
    }

    class End {
    public:
        End(BoostMessageQueue& channel, toll::ipc::Side side)
            : plan_(channel.plan_),
              out_(*channel.queues_[index_of(side)]),
              in_(*channel.queues_[index_of(other(side))]),
              longest_(std::min(plan_.bytes, most)) {}
        void send(std::span<const std::byte> message) {
            toll::ipc::in_parts(message, most, [this](std::span<const std::byte> part) {
                if (!plan_.polling) {
                    out_.send(part.data(), part.size(), 0);
                } else {
                    while (!out_.try_send(part.data(), part.size(), 0)) { plan_.relax(); }
                }
            });
        }
        /// A place has to be as long as the queue's longest message: so is each part but the last one.
        void receive(std::span<std::byte> message) {
            toll::ipc::in_parts(message, most, [this](std::span<std::byte> part) {
                const bool whole = part.size() == longest_.size();
                std::byte* const to = whole ? part.data() : longest_.data();
                Queue::size_type came = 0;
                unsigned priority = 0;
                if (!plan_.polling) {
                    in_.receive(to, longest_.size(), came, priority);
                } else {
                    while (!in_.try_receive(to, longest_.size(), came, priority)) { plan_.relax(); }
                }
                if (!whole) { std::copy_n(to, part.size(), part.begin()); }
            });
        }

    private:
        toll::ipc::Plan plan_;
        Queue& out_;
        Queue& in_;
        std::vector<std::byte> longest_;
    };

private:
    static int remove(const char* name) { return Queue::remove(name) ? 0 : -1; }

    static constexpr std::size_t most = std::size_t{64} * 1024;
    static constexpr std::size_t places = 16;
    toll::ipc::Plan plan_;
    std::array<std::optional<Queue>, 2> queues_;
};

TOLL_IPC_CONTENDER(boost_message_queue, BoostMessageQueue);
