#include "../shared/absl_locks.hpp"
#include "workload.hpp"

#include <absl/synchronization/notification.h>

#include <optional>

struct AbslNotification {
    [[no_unique_address]] toll::locks::NoDeadlockSearch off;
    std::optional<absl::Notification> notification;  // serves one wait: a new one for each sample
    void arm() { notification.emplace(); }
    // NOLINTBEGIN(bugprone-unchecked-optional-access): who raises has armed it
    void raise() { notification->Notify(); }
    void wait() { notification->WaitForNotification(); }
    // NOLINTEND(bugprone-unchecked-optional-access)
};

TOLL_CONTENDER(wakeup, absl_notification, AbslNotification);
