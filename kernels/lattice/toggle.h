// Labels lattices on a GPU by warps: crossings of triangles and columns, then toggles to labels.
#pragma once

#include "lattice/expand.h"
#include "lattice/lattice.h"
#include "platform/atomics.h"
#include "platform/bits.h"
#include "platform/warp.h"

namespace geodomain {

// Crossings by warps. All lanes share the columns that each lane's triangle may cross, and then the
// crossings, because some triangles have many and most have none.

// Shared data of a warp: its triangles, one per lane, and crossings that wait until there are 32.
struct WarpTriangles {
  struct Crossing {
    std::int32_t owner;  // the lane of the triangle; ~lane if the sign is negative
    std::int32_t i, j;
  };
  Triangle triangle[32];
  Columns box[32];
  Crossing crossing[63];
};

// Applies quick arithmetic to the triangles from `first` on, one per lane, with their boxes.
struct Toggler {
  const LatticeView& lattice;
  WarpTriangles& warp;
  const Pairings& unsure;
  std::int32_t first;
  int waiting = 0;  // crossings

  // Deals out the columns of narrow triangles, and the rows of wide ones, in the order of lanes.
  __device__ void toggle() {
    const Columns box = warp.box[lane()];
    const std::int32_t rows = box.empty() ? 0 : box.j1 - box.j0;
    const auto parts = static_cast<std::uint32_t>(is_wide(box) ? rows : rows * (box.i1 - box.i0));
    std::uint32_t end = parts;  // end of this lane's parts among all
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t below = shuffle_up(end, step);
      if (lane() >= step) end += below;
    }
    const std::uint32_t all = shuffle(end, 31);
    for (std::uint32_t begin = 0; begin < all; begin += 32) {
      const std::uint32_t at = begin + static_cast<std::uint32_t>(lane());
      int owner = 0;  // the first lane whose parts end after this
      for (int step = 16; step > 0; step /= 2) {
        if (shuffle(end, owner + step - 1) <= at) owner += step;
      }
      const std::uint32_t start = shuffle(end - parts, owner);
      cross(owner, at - start, at < all);
    }
    drain();
  }

 private:
  __device__ void cross(int owner, std::uint32_t part, bool there) {
    const Triangle& t = warp.triangle[owner];
    const Columns box = warp.box[owner];
    const auto row = static_cast<std::int32_t>(row_of(part, box));
    const std::int32_t j = box.j0 + row;
    const std::int32_t i = box.i0 + static_cast<std::int32_t>(part) - row * (box.i1 - box.i0);
    Run run = {i, there ? i : i - 1};
    if (there && is_wide(box)) run = column_run(lattice, t, box, j);
    for (std::int32_t k = run.i0; ballot(k <= run.i1) != 0; ++k) {
      int sign = 0;
      if (k <= run.i1) {
        sign = crossing_sign<Quick>(t, lattice.x.value[k], lattice.y.value[j]);
        if (sign == kUnsure) unsure.append({first + owner, k, j});
      }
      keep({sign > 0 ? owner : ~owner, k, j}, sign == 1 || sign == -1);
    }
  }

  // A division, specialised to the possible widths.
  __device__ static std::uint32_t row_of(std::uint32_t part, const Columns& box) {
    switch (box.i1 - box.i0) {
      case 2:
        return part / 2;
      case 3:
        return part / 3;
      case kNarrow:
        return part / kNarrow;
      default:
        return part;
    }
  }

  __device__ void keep(const WarpTriangles::Crossing& crossing, bool there) {
    const std::uint32_t all = ballot(there);
    const int below = count_bits(all & ((1u << lane()) - 1));
    if (there) warp.crossing[waiting + below] = crossing;
    waiting += count_bits(all);
    sync_warp();
    if (waiting < 32) return;
    drain();
    sync_warp();
  }

  // Processes up to 32 of the waiting crossings, the last ones.
  __device__ void drain() {
    const int count = waiting < 32 ? waiting : 32;
    waiting -= count;
    if (lane() >= count) return;
    const WarpTriangles::Crossing c = warp.crossing[waiting + lane()];
    const int owner = c.owner < 0 ? ~c.owner : c.owner;
    const int sign = c.owner < 0 ? -1 : 1;
    if (!toggle_below<Quick>(lattice, warp.triangle[owner], sign, c.i, c.j, atomic_xor)) {
      unsure.append({first + owner, c.i, c.j});
    }
  }
};

// Turns toggles into labels by warps, and writes them as rows of bits or bytes, one after the other
// without a gap, at any address.

// How the lanes of a warp share columns: `count` lanes (a power of two up to 32) for each column, a
// word each, the lowest word in the lowest lane, 32 / count columns at a time.
struct Share {
  int count, own;

  __device__ explicit Share(int lanes) : count(lanes), own(lane() & (lanes - 1)) {}

  // The votes of this column's lanes. All lanes of the warp must call this, as below.
  __device__ std::uint32_t votes(bool vote) const {
    const std::uint32_t mask = count == 32 ? 0xffffffffu : (1u << count) - 1;
    return ballot(vote) >> (lane() - own) & mask;
  }
  // The word of one of this column's lanes.
  __device__ std::uint64_t word_of(std::uint64_t word, int from) const {
    return shuffle(word, lane() - own + from);
  }
};

// Labels of the words in a column's lanes; `above` is the number of crossings higher up,
// modulo 2, and is updated to include these.
__device__ inline std::uint64_t settle_words(const Share& share, std::uint64_t toggles,
                                             std::uint32_t& above) {
  const std::uint64_t word = xor_down(toggles);
  // The lowest bit of a settled word is the parity of its toggles.
  const std::uint32_t odd = share.votes(word & 1);
  const std::uint32_t higher = share.own == 31 ? 0 : odd >> (share.own + 1);
  const bool flips = (static_cast<std::uint32_t>(count_bits(higher)) + above) & 1;
  above += static_cast<std::uint32_t>(count_bits(odd));
  return flips ? ~word : word;
}

// Calls write(column, first, word) for all words of all columns, each lane with its own, the whole
// warp together; `column` is -1 for none, and `first` is the word of the lowest lane.
template <int kInFlight, class Write>
__device__ void settle_columns(const LatticeView& lattice, const Share& share, Write&& write) {
  const std::int64_t columns = static_cast<std::int64_t>(lattice.x.count) * lattice.y.count;
  const int step = 32 / share.count;
  const std::int64_t begin = thread_row() / 32 * step * kInFlight + lane() / share.count;
  std::uint32_t above[kInFlight] = {};
  for (std::int32_t first = (lattice.words - 1) / share.count * share.count; first >= 0;
       first -= share.count) {
    const std::int32_t own = first + share.own;
    std::uint64_t word[kInFlight];
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t column = begin + k * step;
      const bool there = own < lattice.words && column < columns;
      word[k] = there ? lattice.bits[column * lattice.words + own] : 0;
    }
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t column = begin + k * step;
      write(column < columns ? column : -1, first, settle_words(share, word[k], above[k]));
    }
  }
}

// Writes bytes `from` up to `to` of eight bytes to an address that is a multiple of 8.
__device__ inline void write_eight(std::uint8_t* at, std::uint64_t bytes, int from, int to) {
  if (from <= 0 && to >= 8) {
    *reinterpret_cast<std::uint64_t*>(at) = bytes;
    return;
  }
  for (int k = 0; k < 8; ++k) {
    if (k >= from && k < to) at[k] = static_cast<std::uint8_t>(bytes >> 8 * k);
  }
}

// How many bytes an address is past a multiple of 8.
__device__ inline int past_eight(const std::uint8_t* at) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) & 7);
}

// The lanes' words shifted up by `bits` (up to 63), all as one number.
__device__ inline std::uint64_t moved_up(const Share& share, std::uint64_t word, int bits) {
  const std::uint64_t below = share.word_of(word, share.own > 0 ? share.own - 1 : 0);
  if (bits == 0) return word;
  return word << bits | (share.own > 0 ? below >> (64 - bits) : 0);
}

// Writes the lanes' words, or the first `left` bytes of them, to `out`. The words are shifted
// first, so that every store has eight bytes at a multiple of 8; the bytes shifted out come last.
__device__ inline void write_bits(const Share& share, std::uint64_t word, std::uint8_t* out,
                                  std::int32_t left) {
  const int lead = past_eight(out);
  const std::int32_t count = left < 8 * share.count ? left : 8 * share.count;
  const std::uint64_t moved = moved_up(share, word, 8 * lead);
  const std::int32_t at = 8 * share.own - lead;
  if (at < count) write_eight(out + at, moved, -at, count - at);
  const std::int32_t last = 8 * share.count - lead;
  if (lead > 0 && share.own == share.count - 1 && last < count) {
    write_eight(out + last, word >> (64 - 8 * lead), 0, count - last);
  }
}

// Turns the settled words of a warp's consecutive columns, in shared memory, into rows of fewer
// bytes without a gap: the warp's bytes are written as one stream, eight at a time at multiples
// of 8, with single bytes only at its two ends.
//
// A column has room for one word more than its own. The first bytes of the next column are copied
// behind its row, so that eight bytes from any byte of a row are eight bytes of the stream.
struct Tile {
  std::uint32_t* halves;
  std::uint32_t pitch, columns;  // pitch in halves
  std::uint32_t row_bytes;       // at least 8

  // Copies the first eight bytes of the next column behind each row; the whole warp together.
  __device__ void chain() const {
    for (std::uint32_t c = lane(); c < columns; c += 32) {
      std::uint32_t* end = halves + c * pitch + row_bytes / 4;
      const bool last = c + 1 == columns;
      const std::uint32_t first = last ? 0 : halves[(c + 1) * pitch];
      const std::uint32_t second = last ? 0 : halves[(c + 1) * pitch + 1];
      const std::uint32_t shift = 8 * (row_bytes % 4);
      end[0] = end[0] | first << shift;
      end[1] = moved_down(first, second, 32 - shift);
      end[2] = shift == 0 ? 0 : second >> (32 - shift);
    }
  }

  // Eight bytes of the stream, starting at byte `from` of a column.
  __device__ std::uint64_t eight_at(std::uint32_t column, std::uint32_t from) const {
    const std::uint32_t* half = halves + column * pitch + from / 4;
    const std::uint32_t shift = 8 * (from % 4);
    const std::uint32_t low = moved_down(half[0], half[1], shift);
    const std::uint32_t high = moved_down(half[1], half[2], shift);
    return std::uint64_t{high} << 32 | low;
  }

  __device__ void write(std::uint8_t* out) const {
    const int lead = past_eight(out), count = static_cast<int>(columns * row_bytes);
    int at = 8 * lane() - lead;
    if (at < 0) write_eight(out + at, eight_at(0, 0) << 8 * lead, lead, count - at), at += 256;
    const std::uint32_t column_step = 256 / row_bytes, from_step = 256 % row_bytes;
    std::uint32_t column = static_cast<std::uint32_t>(at) / row_bytes;
    std::uint32_t from = static_cast<std::uint32_t>(at) % row_bytes;
    for (; at < count; at += 256) {
      write_eight(out + at, eight_at(column, from), 0, count - at);
      column += column_step;
      from += from_step;
      if (from >= row_bytes) from -= row_bytes, ++column;
    }
  }
};

// Size of a warp's tile, for columns of two words or more.
constexpr int kTileWords = 32 * kBitsInFlight / 2 * 3;

// Writes rows of `row_bytes` bytes of bits for the columns of a warp, whose lanes have all words at
// once; `tile` is the warp's own shared memory.
__device__ inline void settle_tile(const LatticeView& lattice, const Share& share,
                                   std::uint64_t* tile, std::uint8_t* rows,
                                   std::int32_t row_bytes) {
  const std::int64_t columns = static_cast<std::int64_t>(lattice.x.count) * lattice.y.count;
  const int together = 32 / share.count * kBitsInFlight, pitch = share.count + 1;
  const std::int64_t begin = thread_row() / 32 * together;
  std::uint64_t* place = tile + lane() / share.count * pitch + share.own;
  settle_columns<kBitsInFlight>(lattice, share,
                                [&](std::int64_t, std::int32_t, std::uint64_t word) {
                                  *place = word;
                                  place += 32 / share.count * pitch;
                                });
  sync_warp();
  const std::int64_t left = columns - begin;
  if (left <= 0) return;
  const auto there = static_cast<std::uint32_t>(left < together ? left : together);
  const Tile words = {reinterpret_cast<std::uint32_t*>(tile), 2 * static_cast<std::uint32_t>(pitch),
                      there, static_cast<std::uint32_t>(row_bytes)};
  words.chain();
  sync_warp();
  words.write(rows + begin * row_bytes);
}

// Writes a byte for each bit of the lanes' words, or of the first `left`, to `out`, in the same
// way.
__device__ inline void write_bytes(const Share& share, std::uint64_t word, std::uint8_t* out,
                                   std::int32_t left) {
  const int lead = past_eight(out);
  const std::int32_t count = left < 64 * share.count ? left : 64 * share.count;
  const std::uint64_t moved = moved_up(share, word, lead);
  for (int step = 0; step < 8; ++step) {
    const int eight = step * share.count + share.own;
    const std::uint64_t bits = share.word_of(moved, eight / 8) >> 8 * (eight % 8);
    const std::int32_t at = 8 * eight - lead;
    if (at < count) write_eight(out + at, bytes_of_bits(bits), -at, count - at);
  }
  const std::int32_t last = 64 * share.count - lead;
  if (lead > 0 && share.own == share.count - 1 && last < count) {
    write_eight(out + last, bytes_of_bits(word >> (64 - lead)), 0, count - last);
  }
}

}  // namespace geodomain
