// The deadlines form an intrusive list that each sweep walks whole: ten thousand connections cost
// ten thousand comparisons twenty times a second.

#include "router/http/deadline.h"

#include <utility>

namespace signalbox::http {

asio::execution_context::id Deadlines::id;

Deadlines::Deadlines(asio::execution_context& context)
    : asio::execution_context::service(context),
      timer_(std::in_place, static_cast<asio::io_context&>(context)) {}

void Deadlines::shutdown() {
  timer_.reset();
}

void Deadlines::arm() {
  if (armed_ || !timer_) return;
  armed_ = true;
  timer_->expires_after(kDeadlinePeriod);
  timer_->async_wait([this](const ErrorCode& error) {
    armed_ = false;
    if (!error) sweep();
  });
}

void Deadlines::sweep() {
  const auto now = Clock::now();
  for (Deadline* deadline = first_; deadline != nullptr;) {
    Deadline* const next = deadline->next_;
    if (deadline->at_ <= now) {
      deadline->clear();
      deadline->expire_();
    }
    deadline = next;
  }
  if (first_ != nullptr) arm();
}

Deadline::Deadline(asio::io_context& loop, std::function<void()> expire)
    : deadlines_(Deadlines::of(loop)), expire_(std::move(expire)) {}

void Deadline::set(std::chrono::milliseconds from_now) {
  at_ = Clock::now() + from_now;
  if (linked_) return;
  linked_ = true;
  previous_ = nullptr;
  next_ = deadlines_.first_;
  if (next_ != nullptr) next_->previous_ = this;
  deadlines_.first_ = this;
  deadlines_.arm();
}

void Deadline::clear() {
  if (!linked_) return;
  linked_ = false;
  (previous_ != nullptr ? previous_->next_ : deadlines_.first_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

}  // namespace signalbox::http
