#include "asio_channel.hpp"

using toll::channel::asio::Tries;

TOLL_CONTENDER(channel, boost_asio_concurrent_channel, toll::channel::asio::ConcurrentChannel<Tries::first>);
