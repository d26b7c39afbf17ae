#include "workload.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <string>
#include <string_view>

struct CafActors {
    explicit CafActors(const toll::skynet::Inputs& inputs)
        : tasks_(inputs.tasks), settings_(inputs.threads), system_(settings_) {
        if (const std::size_t made = system_.scheduler().num_workers(); made != inputs.threads) {
            throw toll::Unsupported("CAF makes " + std::to_string(made) + " worker threads where " +
                                    std::to_string(inputs.threads) + " are asked for");
        }
    }

    /// Returns once all actors have ended, which is after they have sent their sums.
    std::uint64_t run(toll::skynet::Subtree root) {
        std::uint64_t result = 0;
        {
            const caf::scoped_actor asking{system_};
            system_.spawn(node, caf::actor{asking}, root);
            asking->receive([&result](std::uint64_t sum) { result = sum; });
        }
        system_.await_all_actors_done();
        return result;
    }

    /// The root is an actor too.
    [[nodiscard]] toll::Footing footing() const {
        return {{"units_created", toll::skynet::units_below_root(tasks_) + 1}};
    }

    static constexpr std::string_view no_pinning =
        "CAF's hook for new threads tells neither which of them work nor their numbers";

private:
    /// An actor for each node, the root too. One that offers no behavior ends at once.
    static caf::behavior node(caf::event_based_actor* self, const caf::actor& parent,
                              toll::skynet::Subtree tree) {
        if (tree.is_leaf()) {
            self->send(parent, tree.ordinal);
            return {};
        }
        const caf::actor me{self};
        for (std::uint64_t i = 0; i < toll::skynet::children; ++i) { self->spawn(node, me, tree.child(i)); }
        return {[self, parent, left = toll::skynet::children,
                 total = std::uint64_t{0}](std::uint64_t sum) mutable {
            total += sum;
            if (--left > 0) { return; }
            self->send(parent, total);
            self->quit();
        }};
    }

    struct Settings : caf::actor_system_config {
        explicit Settings(unsigned threads) { set("scheduler.max-threads", threads); }
    };

    std::uint64_t tasks_;
    Settings settings_;
    caf::actor_system system_;
};

TOLL_CONTENDER(skynet, caf_actors, CafActors);
