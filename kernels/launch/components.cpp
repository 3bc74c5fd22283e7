// Components of meshes on the CPU, and relations between pairs of them.
#include <atomic>
#include <limits>
#include <memory>

#include "platform/c_function.h"
#include "platform/float_guard.h"
#include "platform/thread_team.h"
#include "topology/relate.h"

using namespace geodomain;

namespace {

struct FoundComponents {
  MeshView mesh;
  Components components;
  std::vector<Bounds> boxes;
};

// A tree over the triangles of a component that are near one of its partners; if there are more
// than a few partners, over all triangles.
BoxTree tree_of(const FoundComponents& parts, const Members& members, std::size_t component,
                const std::vector<Bounds>& partners) {
  std::vector<BoxTree::Leaf> leaves;
  for (std::size_t i = members.start[component]; i < members.start[component + 1]; ++i) {
    const Bounds box = box_of(parts.mesh.triangle(members.triangles[i]));
    bool near = partners.size() > 8;
    for (std::size_t k = 0; k < partners.size() && !near; ++k) near = boxes_meet(box, partners[k]);
    if (near) leaves.push_back({box, members.triangles[i]});
  }
  return BoxTree(std::move(leaves));
}

std::vector<Bounds> boxes_of(const MeshView& mesh, const Components& components) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<Bounds> boxes(static_cast<std::size_t>(components.count),
                            {{infinity, infinity, infinity}, {-infinity, -infinity, -infinity}});
  for (std::size_t i = 0; i < components.component.size(); ++i) {
    if (components.component[i] == kNobody) continue;
    widen(boxes[static_cast<std::size_t>(components.component[i])],
          box_of(mesh.triangle(static_cast<std::int64_t>(i))));
  }
  return boxes;
}

}  // namespace

// Indices must be equal if, and only if, their vertices are equal. The arrays must exist as long as
// the handle. flags: closed, balanced, no edge of more than two triangles.
GD_API Status geodomain_components_create(const double* vertices, std::int64_t vertex_count,
                                          const std::int32_t* triangles,
                                          std::int64_t triangle_count, std::int64_t* count,
                                          std::int32_t* flags, void** handle) {
  return guarded([&] {
    FloatGuard guard;
    std::unique_ptr<FoundComponents> parts(
        new FoundComponents{{vertices, triangles, triangle_count}, {}, {}});
    parts->components = PieceFinder(parts->mesh, vertex_count).find();
    parts->boxes = boxes_of(parts->mesh, parts->components);
    *count = parts->components.count;
    flags[0] = parts->components.closed;
    flags[1] = parts->components.balanced;
    flags[2] = parts->components.uses.empty();
    *handle = parts.release();
  });
}
GD_DESCRIBE(geodomain_components_create);

GD_API void geodomain_components_free(void* handle) {
  delete static_cast<FoundComponents*>(handle);
}
GD_DESCRIBE(geodomain_components_free);

// component: for each triangle, -1 if two of its corners are equal; boxes: (count, 2, 3).
GD_API void geodomain_components_read(const void* handle, std::int32_t* component, double* boxes) {
  const FoundComponents& parts = *static_cast<const FoundComponents*>(handle);
  std::copy(parts.components.component.begin(), parts.components.component.end(), component);
  for (const Bounds& box : parts.boxes) {
    for (const Vec3& end : {box.low, box.high}) {
      *boxes++ = end.x;
      *boxes++ = end.y;
      *boxes++ = end.z;
    }
  }
}
GD_DESCRIBE(geodomain_components_read);

// Pairs of components in one cluster whose closed boxes meet, in ascending order, two indices each.
// If there are more than `most` pairs, the first ones that are found. If pairs is null, only their
// number, at most `most` + 1. cluster: for each component, from 0 to cluster_count - 1, or -1.
GD_API Status geodomain_components_near(const void* handle, const std::int32_t* cluster,
                                        std::int64_t cluster_count, std::int64_t most,
                                        std::int32_t* pairs, std::int64_t* count) {
  return guarded([&] {
    const FoundComponents& parts = *static_cast<const FoundComponents*>(handle);
    write_pairs(near_pairs(parts.boxes, cluster, cluster_count, most), pairs, count);
  });
}
GD_DESCRIBE(geodomain_components_near, 4);

// Like `geodomain_components_near`, for components with triangles whose closed boxes meet.
GD_API Status geodomain_components_contacts(const void* handle, std::int64_t most,
                                            std::int32_t* pairs, std::int64_t* count) {
  return guarded([&] {
    const FoundComponents& parts = *static_cast<const FoundComponents*>(handle);
    write_pairs(contact_pairs(parts.mesh, parts.components.component, parts.boxes, most), pairs,
                count);
  });
}
GD_DESCRIBE(geodomain_components_contacts, 2);

// above: for each cluster of components, the component of the next triangle of another cluster
// above its highest vertex, or -1. highest: the component with this vertex. cluster: for each
// component, from 0 to cluster_count - 1, or -1 for components to ignore. Boxes of triangles of two
// clusters must not meet.
GD_API Status geodomain_components_above(const void* handle, const std::int32_t* cluster,
                                         std::int64_t cluster_count, int threads,
                                         std::int32_t* above, std::int32_t* highest) {
  return guarded([&] {
    const FoundComponents& parts = *static_cast<const FoundComponents*>(handle);
    Team team(threads);
    next_above(parts.mesh, parts.components.component, cluster, cluster_count, team, above,
               highest);
  });
}
GD_DESCRIBE(geodomain_components_above);

// inside: whether the second component of each pair lies inside the first; their surfaces must be
// disjoint. Pairs are sorted by the first component.
GD_API Status geodomain_components_inside(const void* handle, const std::int32_t* pairs,
                                          std::int64_t pair_count, int threads,
                                          std::uint8_t* inside) {
  return guarded([&] {
    const FoundComponents& parts = *static_cast<const FoundComponents*>(handle);
    Team team(threads);
    are_inside(parts.mesh, Members(parts.components), pairs, pair_count, team, inside);
  });
}
GD_DESCRIBE(geodomain_components_inside);

// seen: the Evidence of each pair, only kCross if the components overlap. outward: see Relation.
// For each pair at most `limit` pairs of triangles are compared; its parts share this limit.
GD_API Status geodomain_components_relate(const void* handle, const std::int32_t* pairs,
                                          std::int64_t pair_count, const std::int8_t* outward,
                                          std::int64_t limit, int threads, std::int32_t* seen) {
  return guarded([&] {
    const FoundComponents& parts = *static_cast<const FoundComponents*>(handle);
    const Members members(parts.components);
    std::vector<std::vector<Bounds>> partners(parts.boxes.size());
    for (std::int64_t i = 0; i < 2 * pair_count; ++i) {
      const std::size_t other = static_cast<std::size_t>(pairs[i ^ 1]);
      partners[static_cast<std::size_t>(pairs[i])].push_back(parts.boxes[other]);
    }
    Team team(threads);
    std::vector<std::unique_ptr<BoxTree>> trees(parts.boxes.size());
    const auto tree = [&](std::int64_t end) -> const BoxTree& {
      return *trees[static_cast<std::size_t>(pairs[end])];
    };
    team.run(static_cast<std::int64_t>(trees.size()), 1,
             [&](std::int64_t begin, std::int64_t end, int) {
               for (std::size_t i = static_cast<std::size_t>(begin);
                    i < static_cast<std::size_t>(end); ++i) {
                 if (partners[i].empty()) continue;
                 trees[i].reset(new BoxTree(tree_of(parts, members, i, partners[i])));
               }
             });
    struct Work {
      std::int64_t pair;
      BoxTree::Task task;
      std::int64_t limit;
    };
    std::vector<Work> works;
    for (std::int64_t i = 0; i < pair_count; ++i) {
      const auto tasks = tree(2 * i).tasks(tree(2 * i + 1));
      const std::int64_t share =
          limit / std::max<std::int64_t>(1, static_cast<std::int64_t>(tasks.size()));
      for (const BoxTree::Task& task : tasks) works.push_back({i, task, share});
    }
    std::vector<std::atomic<std::int32_t>> all(static_cast<std::size_t>(pair_count));
    team.run(static_cast<std::int64_t>(works.size()), 1, [&](std::int64_t at, std::int64_t, int) {
      const Work& work = works[static_cast<std::size_t>(at)];
      std::atomic<std::int32_t>& total = all[static_cast<std::size_t>(work.pair)];
      Relation relation(parts.mesh, parts.components, outward, total.load());
      std::int64_t left = work.limit;
      tree(2 * work.pair)
          .visit_pairs(tree(2 * work.pair + 1), work.task, [&](std::int32_t a, std::int32_t b) {
            if (left-- <= 0) relation.give_up();
            return left >= 0 && relation.look(a, b);
          });
      total.fetch_or(relation.seen());
    });
    // Other evidence found before an overlap depends on the order of threads.
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int32_t bits = all[i].load();
      seen[i] = overlap(bits) ? std::int32_t{kCross} : bits;
    }
  });
}
GD_DESCRIBE(geodomain_components_relate);
