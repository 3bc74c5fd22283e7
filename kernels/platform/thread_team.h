// A team of threads for the duration of one call. Nothing outlives the call, so
// nothing breaks after fork() and nothing has to be joined at exit.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "platform/float_guard.h"
#include "platform/portable.h"

#if GD_THREADS
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>
#endif

namespace geodomain {

#if GD_THREADS

using Mutex = std::mutex;
using Lock = std::unique_lock<Mutex>;

class Team {
 public:
  // `threads` members, the caller among them, or as many as the system will start:
  // no result depends on how many there are.
  explicit Team(int threads) {
    try {
      for (int member = 1; member < threads; ++member) {
        workers_.emplace_back([this, member] { serve(member); });
      }
    } catch (...) {  // leaving with threads running would end the process
    }
  }

  ~Team() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(begin, end, member) over [0, count) in pieces of `grain`, handed out
  // as members become free; returns when all is done. The pieces are the
  // same for any team, so a result that depends only on a piece is
  // reproducible. The first exception of a body is thrown again here.
  template <class Body>
  void run(std::int64_t count, std::int64_t grain, Body&& body) {
    std::atomic<std::int64_t> next{0};
    const std::function<void(int)> job = [&](int member) {
      for (;;) {
        const std::int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
        if (begin >= count) return;
        body(begin, begin + grain < count ? begin + grain : count, member);
      }
    };
    if (workers_.empty() || count <= grain) {
      FloatGuard guard;
      job(0);
      return;
    }
    begin_job(&job);
    attempt(job, 0);
    finish_job();
  }

 private:
  void attempt(const std::function<void(int)>& job, int member) {
    FloatGuard guard;
    try {
      job(member);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void begin_job(const std::function<void(int)>* job) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      job_ = job;
      pending_ = static_cast<int>(workers_.size());
      ++round_;
    }
    wake_.notify_all();
  }

  void finish_job() {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return pending_ == 0; });
    if (failure_) {
      std::exception_ptr failure;
      std::swap(failure, failure_);
      std::rethrow_exception(failure);
    }
  }

  void serve(int member) {
    std::uint64_t seen = 0;
    for (;;) {
      const std::function<void(int)>* job = nullptr;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
        job = job_;
      }
      attempt(*job, member);
      std::lock_guard<std::mutex> lock(mutex_);
      if (--pending_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  const std::function<void(int)>* job_ = nullptr;
  std::exception_ptr failure_;
  std::uint64_t round_ = 0;
  int pending_ = 0;
  bool stopping_ = false;
};

#else

// Without threads there is nobody to wait for.
struct Mutex {};
struct Lock {
  explicit Lock(Mutex&) {}
  void lock() {}
  void unlock() {}
};

// The caller alone, with the same pieces in their order.
class Team {
 public:
  explicit Team(int) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return 1; }

  template <class Body>
  void run(std::int64_t count, std::int64_t grain, Body&& body) {
    FloatGuard guard;
    for (std::int64_t begin = 0; begin < count; begin += grain) {
      body(begin, begin + grain < count ? begin + grain : count, 0);
    }
  }
};

#endif

// The lowest row index that any thread reports.

class LowestRow {
 public:
  void keep(std::int64_t row) {
    std::int64_t least = row_.load(std::memory_order_relaxed);
    while (row < least && !row_.compare_exchange_weak(least, row)) {
    }
  }
  std::int64_t row() const {  // -1 if none was reported
    const std::int64_t row = row_.load();
    return row == kNone ? -1 : row;
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> row_{kNone};
};

}  // namespace geodomain
