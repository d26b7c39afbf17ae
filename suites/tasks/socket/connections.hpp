#pragma once

#include "../../ipc/shared/descriptors.hpp"
#include "workload.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>
#include <vector>

namespace toll::socket {

using ipc::OwnedDescriptor;

/// One end of a connection each, non-blocking, with TCP_NODELAY: without it an answer may wait for 40 ms.
struct Ends {
    OwnedDescriptor client;
    OwnedDescriptor server;
};

/// As many over loopback as were asked for. Throws std::system_error where the machine has none.
[[nodiscard]] inline std::vector<Ends> connections(unsigned count) {
    const OwnedDescriptor listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const generic =
        reinterpret_cast<sockaddr*>(&address);  // NOLINT(*-reinterpret-cast) the sockets' way
    socklen_t bytes = sizeof address;
    ipc::check_call(::bind(listener.get(), generic, bytes), "bind");
    ipc::check_call(::listen(listener.get(), 1), "listen");
    ipc::check_call(::getsockname(listener.get(), generic, &bytes), "getsockname");
    std::vector<Ends> made;
    for (unsigned i = 0; i < count; ++i) {
        OwnedDescriptor client{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"};
        ipc::check_call(::connect(client.get(), generic, bytes), "connect");
        OwnedDescriptor server{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"};
        for (const OwnedDescriptor* const end : {&client, &server}) {
            const int on = 1;
            ipc::check_call(::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "setsockopt");
            ipc::set_non_blocking(end->get());
        }
        made.push_back({std::move(client), std::move(server)});
    }
    return made;
}

/// The descriptors of `ends`, for sides that own theirs.
struct Sides {
    std::vector<OwnedDescriptor> clients;
    std::vector<OwnedDescriptor> servers;
};

[[nodiscard]] inline Sides sides_of(std::vector<Ends> ends) {
    Sides sides;
    for (Ends& each : ends) {
        sides.clients.push_back(std::move(each.client));
        sides.servers.push_back(std::move(each.server));
    }
    return sides;
}

}  // namespace toll::socket
