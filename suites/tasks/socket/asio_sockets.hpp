#pragma once

#include "connections.hpp"

#include <boost/asio/ip/tcp.hpp>

namespace toll::socket {

/// A socket of Asio's in place of a descriptor, which it closes in the end.
template <class Socket, class Context>
Socket adopted(Context& context, OwnedDescriptor end) {
    Socket socket{context};
    socket.assign(boost::asio::ip::tcp::v4(), end.release());
    return socket;
}

}  // namespace toll::socket
