// Last in, first out: the most used connections stay warm, and those that a burst opened become
// idle and are closed.

#include "router/upstream/pool.h"

#include <utility>

namespace signalbox::upstream {
namespace {

/// How soon a connection is released after its server has closed it or its idle time is over.
constexpr std::chrono::milliseconds kPrunePeriod{1'000};

/// True if the connection is open and has nothing to read. Unexpected bytes would be the reply to a
/// request that we did not send.
bool is_quiet(Channel& channel) {
  char byte;
  http::ErrorCode error;
  channel.stream.socket().receive(http::asio::buffer(&byte, 1), http::Socket::message_peek, error);
  return error == http::asio::error::would_block;
}

}  // namespace

http::asio::execution_context::id Pool::id;

Pool::Pool(http::asio::execution_context& context)
    : http::asio::execution_context::service(context),
      pruning_(static_cast<http::asio::io_context&>(context), [this] { prune(); }) {}

void Pool::clear() {
  pruning_.clear();
  shelves_.clear();
}

std::unique_ptr<Channel> Pool::take(const std::string& address) {
  const auto shelf = shelves_.find(address);
  if (shelf == shelves_.end()) return nullptr;
  auto& channels = shelf->second.channels;
  while (!channels.empty()) {
    auto channel = std::move(channels.back());
    channels.pop_back();
    if (!is_quiet(*channel)) continue;
    channel->reused = true;
    return channel;
  }
  return nullptr;
}

void Pool::keep(const std::string& address, std::unique_ptr<Channel> channel, uint32_t idle_max,
                std::chrono::milliseconds timeout) {
  Shelf& shelf = shelves_[address];
  shelf.timeout = timeout;
  channel->idle_since = http::Clock::now();
  shelf.channels.push_back(std::move(channel));
  if (shelf.channels.size() > idle_max) shelf.channels.pop_front();
  pruning_.set(kPrunePeriod);
}

void Pool::prune() {
  const auto now = http::Clock::now();
  bool left = false;
  for (auto& [address, shelf] : shelves_) {
    std::erase_if(shelf.channels,
                  [&, timeout = shelf.timeout](const std::unique_ptr<Channel>& channel) {
                    return now - channel->idle_since >= timeout || !is_quiet(*channel);
                  });
    left = left || !shelf.channels.empty();
  }
  if (left) pruning_.set(kPrunePeriod);
}

}  // namespace signalbox::upstream
