// Copies memory by several threads between the caller's arrays and page-locked memory, because one
// thread copies only a fifth of what the bus can move.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "platform/c_function.h"
#include "platform/mesh_view.h"
#include "platform/thread_team.h"

// A ring of pieces that threads fill in turn, ahead of their reader. The threads stay awake between
// pieces, because waking a thread takes as long as copying a megabyte or two.

namespace geodomain {

class Filler {
 public:
  // Writes rows [begin, end) to the memory of their piece, at each row's position in it.
  using Fill = std::function<void(std::int64_t begin, std::int64_t end, double* to)>;

  // Piece k contains the rows from k * piece_rows on, and is stored in ring[k % ring.size()].
  Filler(int threads, std::int64_t rows, std::int64_t piece_rows, std::vector<double*> ring,
         Fill fill)
      : rows_(rows),
        piece_rows_(piece_rows),
        ring_(std::move(ring)),
        fill_(std::move(fill)),
        open_(ring_.size()) {
    for (std::size_t slot = 0; slot < ring_.size(); ++slot) {
      open_[slot] = blocks_of(static_cast<std::int64_t>(slot));
    }
    try {
      for (std::int64_t i = 0; i < worth(threads); ++i) workers_.emplace_back([this] { serve(); });
    } catch (...) {  // the system starts no more threads
    }
  }

  ~Filler() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  // Waits until the next piece is full.
  void wait(std::int64_t piece) {
    if (workers_.empty()) {
      for (std::int64_t block = 0; block < blocks_of(piece); ++block) fill(piece, block);
    }
    std::unique_lock<std::mutex> lock(mutex_);
    full_.wait(lock, [&] { return open_[slot_of(piece)] == 0; });
  }

  // Reports that the next piece has been emptied.
  void release(std::int64_t piece) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      open_[slot_of(piece)] = blocks_of(piece + size());
      released_.store(piece + 1, std::memory_order_release);
    }
    room_.notify_all();
  }

 private:
  static constexpr std::int64_t kBlockRows = 8192;

  // As many threads as there are blocks; if there is a single one, the waiting thread fills it.
  std::int64_t worth(int threads) const {
    const std::int64_t blocks = blocks_in(rows_);
    return blocks < 2 ? 0 : std::min<std::int64_t>(threads, blocks);
  }

  std::int64_t size() const { return static_cast<std::int64_t>(ring_.size()); }
  std::size_t slot_of(std::int64_t piece) const { return static_cast<std::size_t>(piece % size()); }
  std::int64_t blocks_in(std::int64_t rows) const { return (rows + kBlockRows - 1) / kBlockRows; }
  std::int64_t blocks_of(std::int64_t piece) const {
    const std::int64_t left = rows_ - piece * piece_rows_;
    return left <= 0 ? 0 : blocks_in(std::min(left, piece_rows_));
  }

  void serve() {
    const std::int64_t per_piece = blocks_in(piece_rows_);
    for (;;) {
      const std::int64_t number = next_.fetch_add(1, std::memory_order_relaxed);
      const std::int64_t piece = number / per_piece, block = number % per_piece;
      if (piece * piece_rows_ >= rows_ || !has_room(piece)) return;
      if (block < blocks_of(piece)) fill(piece, block);
    }
  }

  // Waits until the memory of a piece has been emptied; returns false if the copy has ended.
  bool has_room(std::int64_t piece) {
    if (piece < released_.load(std::memory_order_acquire) + size()) return true;
    std::unique_lock<std::mutex> lock(mutex_);
    room_.wait(lock, [&] { return stopping_ || piece < released_.load() + size(); });
    return !stopping_;
  }

  void fill(std::int64_t piece, std::int64_t block) {
    const std::int64_t first = piece * piece_rows_, begin = first + block * kBlockRows;
    const std::int64_t end = std::min({begin + kBlockRows, first + piece_rows_, rows_});
    fill_(begin, end, ring_[slot_of(piece)] + 3 * (begin - first));
    std::lock_guard<std::mutex> lock(mutex_);
    if (--open_[slot_of(piece)] == 0) full_.notify_one();
  }

  const std::int64_t rows_, piece_rows_;
  const std::vector<double*> ring_;
  const Fill fill_;
  std::mutex mutex_;
  std::condition_variable full_, room_;
  std::vector<std::int64_t> open_;  // blocks of each piece of the ring not filled yet
  std::atomic<std::int64_t> next_{0}, released_{0};
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace geodomain

using namespace geodomain;

namespace {

constexpr std::int64_t kPieceBytes = 1 << 18;
constexpr std::int64_t kAlone = 1 << 20;  // bytes that one thread copies before another is woken
constexpr std::int64_t kPointBytes = 24;

void copy_bytes(Team& team, const char* from, char* to, std::int64_t bytes) {
  team.run(bytes, bytes > kAlone ? kPieceBytes : kAlone,
           [=](std::int64_t begin, std::int64_t end, int) {
             std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
           });
}

// Whether the columns belong to one array of rows without gaps.
bool is_packed(const PointsView& points) {
  const bool steps = points.stride_x == kPointBytes && points.stride_y == kPointBytes &&
                     points.stride_z == kPointBytes;
  return steps && points.y == points.x + 8 && points.z == points.x + 16;
}

void gather(const PointsView& points, std::int64_t begin, std::int64_t end, double* to) {
  if (is_packed(points)) {
    std::memcpy(to, points.x + kPointBytes * begin,
                static_cast<std::size_t>(kPointBytes * (end - begin)));
    return;
  }
  for (std::int64_t row = begin; row < end; ++row, to += 3) {
    const Vec3 q = points[row];
    to[0] = q.x;
    to[1] = q.y;
    to[2] = q.z;
  }
}

}  // namespace

// Threads that exist until the handle is freed: starting them costs more than a small copy.
GD_API Status geodomain_stager_create(int threads, void** handle) {
  return guarded([&] { *handle = new Team(threads); });
}
GD_DESCRIBE(geodomain_stager_create);

GD_API void geodomain_stager_free(void* handle) { delete static_cast<Team*>(handle); }
GD_DESCRIBE(geodomain_stager_free);

GD_API Status geodomain_stager_copy(void* handle, const void* from, void* to, std::int64_t bytes) {
  return guarded([&] {
    copy_bytes(*static_cast<Team*>(handle), static_cast<const char*>(from), static_cast<char*>(to),
               bytes);
  });
}
GD_DESCRIBE(geodomain_stager_copy);

// Threads that write rows of three columns with any strides as x y z, x y z, ... to the pieces of a
// ring: piece k contains rows [k * piece_rows, (k + 1) * piece_rows) and is stored at k % size.
GD_API Status geodomain_filler_create(const void* const* columns, const std::int64_t* strides,
                                      std::int64_t rows, double* const* ring,
                                      std::int64_t ring_size, std::int64_t piece_rows, int threads,
                                      void** handle) {
  return guarded([&] {
    const PointsView points = {static_cast<const char*>(columns[0]),
                               static_cast<const char*>(columns[1]),
                               static_cast<const char*>(columns[2]),
                               strides[0],
                               strides[1],
                               strides[2]};
    const auto fill = [points](std::int64_t begin, std::int64_t end, double* to) {
      gather(points, begin, end, to);
    };
    *handle = new Filler(threads, rows, piece_rows, {ring, ring + ring_size}, fill);
  });
}
GD_DESCRIBE(geodomain_filler_create);

GD_API void geodomain_filler_free(void* handle) { delete static_cast<Filler*>(handle); }
GD_DESCRIBE(geodomain_filler_free);

GD_API void geodomain_filler_wait(void* handle, std::int64_t piece) {
  static_cast<Filler*>(handle)->wait(piece);
}
GD_DESCRIBE(geodomain_filler_wait);

GD_API void geodomain_filler_release(void* handle, std::int64_t piece) {
  static_cast<Filler*>(handle)->release(piece);
}
GD_DESCRIBE(geodomain_filler_release);
