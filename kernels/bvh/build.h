// Builds the hierarchy: a binary tree from sorted codes, bottom-up in one pass (C. Apetrei,
// "Fast and simple agglomerative LBVH construction", 2014), then nodes of eight gathered from it
// level by level. Each function is the work of one thread; the loops are in launch/.
#pragma once

#include "bvh/nodes.h"
#include "platform/atomics.h"
#include "platform/bits.h"

namespace geodomain {

// Leaf i is triangle i in the order of codes, then of indices. Inner node k separates leaves up to
// k from leaves after k; a child is an inner node, or ~i for leaf i.
struct BinaryTree {
  std::int32_t leaf_count;
  const std::uint64_t* codes;     // sorted
  const std::int32_t* triangles;  // sorted by code
  const Box* boxes;               // by triangle index
  std::int32_t (*child)[2];
  std::int32_t (*range)[2];  // first and last leaf below each node
  Box* around_node;
  std::int32_t* other_end;  // -1 until a node's first child is done
  std::int32_t* root;

  // How different leaves i and i + 1 are: a difference of codes outweighs one of indices. The
  // values at a node's two ends are never equal, because there are no three numbers that share a
  // prefix and all differ in the next bit.
  GD_HD bool nearer(std::int32_t i, std::int32_t j) const {
    const std::uint64_t a = codes[i] ^ codes[i + 1], b = codes[j] ^ codes[j + 1];
    if (a != 0 || b != 0) return a < b;
    return (triangles[i] ^ triangles[i + 1]) < (triangles[j] ^ triangles[j + 1]);
  }
  GD_HD const Box& box(std::int32_t child_of) const {
    return child_of < 0 ? boxes[triangles[~child_of]] : around_node[child_of];
  }
  GD_HD std::int32_t size(std::int32_t child_of) const {
    return child_of < 0 ? 1 : range[child_of][1] - range[child_of][0] + 1;
  }
  GD_HD std::int32_t first(std::int32_t child_of) const {
    return child_of < 0 ? ~child_of : range[child_of][0];
  }
};
static_assert(sizeof(BinaryTree) == size_by_pointers(72, 36), "as every compiler has it");

// Climbs from leaf i to a node whose other child is not done; the thread of the last child goes on.
GD_HD void climb(const BinaryTree& tree, std::int32_t i) {
  std::int32_t current = ~i, left = i, right = i;
  const std::int32_t last = tree.leaf_count - 1;
  while (left != 0 || right != last) {
    const bool is_left = left == 0 || (right != last && tree.nearer(right, left - 1));
    const std::int32_t parent = is_left ? right : left - 1;
    tree.child[parent][is_left ? 0 : 1] = current;
    const std::int32_t met = atomic_swap(&tree.other_end[parent], is_left ? left : right);
    if (met < 0) return;
    (is_left ? right : left) = met;
    tree.range[parent][0] = left;
    tree.range[parent][1] = right;
    tree.around_node[parent] =
        around(tree.box(tree.child[parent][0]), tree.box(tree.child[parent][1]));
    current = parent;
  }
  *tree.root = current;
}

struct PacketRange {
  std::int32_t first, count;
};
static_assert(sizeof(PacketRange) == 8, "as every compiler has it");

// Output of gathering; `source` is the binary child that each node is gathered from.
struct WideTree {
  WideNode* nodes;
  std::int32_t* source;
  PacketRange* packets;
  std::uint32_t* packet_count;
  std::uint32_t* level_sizes;  // nodes; initially 1 for the first level, else 0
};
static_assert(sizeof(WideTree) == size_by_pointers(40, 20), "as every compiler has it");
constexpr int kLevels = kDeepest + 2;  // with sizes

// A level's nodes; their number is final once the level above is gathered.
struct Level {
  int number;
  std::uint32_t begin, end;
};

GD_HD Level level_of(const WideTree& wide, int number) {
  std::uint32_t begin = 0;
  for (int above = 0; above < number; ++above) begin += wide.level_sizes[above];
  return {number, begin, begin + wide.level_sizes[number]};
}

GD_HD void begin_levels(const BinaryTree& tree, const WideTree& wide) {
  for (int level = 0; level < kLevels; ++level) wide.level_sizes[level] = level == 0;
  wide.source[0] = *tree.root;
  *wide.packet_count = 0;
}

GD_HD float half_area(const Box& box) {
  const float x = box.high[0] - box.low[0], y = box.high[1] - box.low[1],
              z = box.high[2] - box.low[2];
  return x * y + y * z + z * x;
}

// The binary children that become a node's children, with the values that are often needed. `kMost`
// is the number of triangles in a packet.
template <int kMost>
struct Gathered {
  int count = 0;
  std::int32_t child[kWide], size[kWide];
  Box box[kWide];

  GD_HD void put(const BinaryTree& tree, int place, std::int32_t child_of) {
    child[place] = child_of;
    size[place] = tree.size(child_of);
    box[place] = tree.box(child_of);
  }
  GD_HD bool is_leaf(int place) const { return size[place] <= kMost; }
};

// Splits the largest box that can be split, until there are eight.
template <int kMost>
GD_HD void gather_children(const BinaryTree& tree, std::int32_t source, Gathered<kMost>& out) {
  out.put(tree, 0, source);
  out.count = 1;
  while (out.count < kWide) {
    int widest = -1;
    float most = -1.0f;
    for (int i = 0; i < out.count; ++i) {
      const float area = half_area(out.box[i]);
      if (!out.is_leaf(i) && area > most) most = area, widest = i;
    }
    if (widest < 0) break;
    const std::int32_t parted = out.child[widest];
    out.put(tree, widest, tree.child[parted][0]);
    out.put(tree, out.count++, tree.child[parted][1]);
  }
}

// Gives each child a slot on its side of the middle, the farthest child first. Loops with constant
// bounds, and bit operations, let a GPU keep everything in registers.
template <int kMost>
GD_HD void choose_slots(const Gathered<kMost>& gathered, const Box& whole, std::int32_t* slots) {
  float side[kWide][3];
  for (int i = 0; i < kWide; ++i) {
    for (int k = 0; k < 3; ++k) {
      const Box& box = gathered.box[i < gathered.count ? i : 0];
      side[i][k] = box.low[k] + box.high[k] - whole.low[k] - whole.high[k];
    }
  }
  for (int i = 0; i < kWide; ++i) slots[i] = -1;
  std::uint32_t children = (1u << gathered.count) - 1u, free = (1u << kWide) - 1u;
  while (children != 0) {
    float best = -HUGE_VALF;
    int best_child = 0, best_slot = 0;
    for (int i = 0; i < kWide; ++i) {
      for (int slot = 0; slot < kWide; ++slot) {
        const float fit = (slot & 1 ? side[i][0] : -side[i][0]) +
                          (slot & 2 ? side[i][1] : -side[i][1]) +
                          (slot & 4 ? side[i][2] : -side[i][2]);
        const bool open = (children >> i & free >> slot & 1) != 0;
        if (open & (fit > best)) best = fit, best_child = i, best_slot = slot;
      }
    }
    children &= ~(1u << best_child);
    free &= ~(1u << best_slot);
    slots[best_slot] = best_child;
  }
}

// The smallest exponent for which 255 steps cover an extent.
GD_HD int step_exponent(float extent) {
  std::uint32_t bits;
  std::memcpy(&bits, &extent, sizeof bits);
  const int too_small = static_cast<int>(bits >> 23) - 127 - 8;  // because 255 < 2^8
  int exponent = too_small > -40 ? too_small : -40;
  while (255.0f * power_of_two(exponent) < extent) ++exponent;
  return exponent;
}

GD_HD std::uint32_t step_down(float steps) {
  return static_cast<std::uint32_t>(steps < 255.0f ? steps : 255.0f);
}
GD_HD std::uint32_t step_up(float steps) {
  const std::uint32_t below = step_down(steps);
  return below < 255 && static_cast<float>(below) < steps ? below + 1 : below;
}

// Gathers node `index` of a level from its source, and allocates its children.
template <int kMost>
GD_HD void gather(const BinaryTree& tree, const WideTree& wide, const Level& level,
                  std::uint32_t index) {
  const std::int32_t source = wide.source[index];
  Gathered<kMost> gathered;
  gather_children(tree, source, gathered);
  const Box whole = tree.box(source);
  std::int32_t slots[kWide];
  choose_slots(gathered, whole, slots);
  WideNode node = {};
  for (int i = 0; i < kWide; ++i) {
    if (slots[i] < 0) continue;
    std::uint8_t& set = gathered.is_leaf(slots[i]) ? node.leaf : node.inner;
    set = static_cast<std::uint8_t>(set | 1u << i);
  }
  node.child = level.end + atomic_add(&wide.level_sizes[level.number + 1],
                                      static_cast<std::uint32_t>(count_bits(node.inner)));
  node.packet = atomic_add(wide.packet_count, static_cast<std::uint32_t>(count_bits(node.leaf)));
  std::uint32_t next_child = node.child, next_packet = node.packet;
  float steps[3];
  for (int k = 0; k < 3; ++k) {
    const int exponent = step_exponent(whole.high[k] - whole.low[k]);
    node.origin[k] = whole.low[k];
    node.exponent[k] = static_cast<std::int8_t>(exponent);
    steps[k] = power_of_two(-exponent);
  }
  for (int i = 0; i < kWide; ++i) {
    if (slots[i] < 0) continue;
    const std::int32_t child = gathered.child[slots[i]];
    const Box& box = gathered.box[slots[i]];
    for (int k = 0; k < 3; ++k) {
      const std::uint64_t low = step_down((box.low[k] - whole.low[k]) * steps[k]);
      const std::uint64_t high = step_up((box.high[k] - whole.low[k]) * steps[k]);
      node.low[k] |= low << 8 * i;
      node.high[k] |= high << 8 * i;
    }
    if (node.inner >> i & 1) {
      wide.source[next_child++] = child;
    } else {
      wide.packets[next_packet++] = {tree.first(child), gathered.size[slots[i]]};
    }
  }
  wide.nodes[index] = node;
}

// Fills place k of a packet.
GD_HD void fill_place(const MeshView& mesh, const std::int32_t* triangles, PacketRange range, int k,
                      Packet& packet) {
  const bool there = k < range.count;
  const std::int32_t index = triangles[range.first + (there ? k : 0)];
  const Triangle t = mesh.triangle(index);
  double corners[9] = {t.a.x, t.a.y, t.a.z, t.b.x, t.b.y, t.b.z, t.c.x, t.c.y, t.c.z};
  for (double& corner : corners) corner = there ? corner : HUGE_VAL - HUGE_VAL;
  packet.put(k, corners, there ? index : -1, range.count);
}

// The most nodes that a tree can have: a node that is not full has only packets below it, with more
// than one packet's triangles; a full node adds seven more children than it takes places.
template <int kMost>
GD_HD std::int64_t most_nodes(std::int64_t triangle_count) {
  return triangle_count / (kMost + 1) + triangle_count / 7 + 1;
}

}  // namespace geodomain
