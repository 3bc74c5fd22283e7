// Work that threads make ready in any order, and that is done one after the other in its own: by
// whichever thread makes the next one ready, while the others go on.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace geodomain {

class InOrder {
 public:
  explicit InOrder(std::int64_t count) : ready_(static_cast<std::size_t>(count)) {}

  // Number i is ready. Calls body(k) for each k that is next and ready, unless another thread is
  // at it, which then calls it. All are done when all calls of `ready` have returned; a body that
  // throws leaves the rest undone.
  template <class Body>
  void ready(std::int64_t i, Body&& body) {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_[static_cast<std::size_t>(i)] = true;
    if (is_busy_) return;
    is_busy_ = true;
    for (; next_ < ready_.size() && ready_[next_]; ++next_) {
      lock.unlock();
      body(static_cast<std::int64_t>(next_));
      lock.lock();
    }
    is_busy_ = false;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> ready_;
  std::size_t next_ = 0;
  bool is_busy_ = false;
};

}  // namespace geodomain
