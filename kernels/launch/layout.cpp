// Describes the structures and constants that Python shares with the kernels, from their C++
// definitions. So neither Python nor the fake driver of the tests contains an offset, a size or a
// constant. Array elements whose fields Python does not read are described by their size only.
#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeindex>

#include "bvh/bins.h"
#include "bvh/box_frame.h"
#include "bvh/build.h"
#include "bvh/nearest.h"
#include "bvh/queries.h"
#include "exact/single.h"
#include "grid/codes.h"
#include "grid/device_build.h"
#include "grid/winding.h"
#include "lattice/lattice.h"
#include "lattice/look_up.h"
#include "platform/c_function.h"
#include "platform/row_list.h"
#include "platform/warp.h"
#include "topology/relate.h"
#include "volume/block.h"

// A text that describes structures for Python: lines of "structure NAME BYTES", "field NAME OFFSET
// KIND COUNTS..." for each field, and "constant NAME VALUE". A kind is the letter of a number in
// Python's struct module and NumPy, "P" for an address, or the name of an earlier structure.

namespace geodomain {

class Layout {
 public:
  // The fields follow; `GD_FIELD` adds one.
  template <class Whole>
  Layout& structure(const char* name) {
    static_assert(std::is_standard_layout_v<Whole> && std::is_trivially_copyable_v<Whole>,
                  "what travels as bytes");
    names_[typeid(Whole)] = name;
    text_ += std::string("structure ") + name + ' ' + std::to_string(sizeof(Whole)) + '\n';
    return *this;
  }

  // A structure that kernels take by value: Python aligns each to a multiple of eight bytes.
  template <class Whole>
  Layout& argument(const char* name) {
    static_assert(alignof(Whole) == 8, "an argument is aligned as eight bytes are");
    return structure<Whole>(name);
  }

  template <class Field>
  Layout& field(const char* name, std::size_t offset) {
    text_ += std::string("field ") + name + ' ' + std::to_string(offset) + ' ' +
             kind<std::remove_all_extents_t<Field>>() + counts<Field>() + '\n';
    return *this;
  }

  template <class Value>
  Layout& constant(const char* name, Value value) {
    char exact[40];
    if constexpr (std::is_floating_point_v<Value>) {
      std::snprintf(exact, sizeof exact, "%a", value);
    } else {
      std::snprintf(exact, sizeof exact, "%lld", static_cast<long long>(value));
    }
    text_ += std::string("constant ") + name + ' ' + exact + '\n';
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  template <class Field>
  std::string kind() const {
    if constexpr (std::is_pointer_v<Field>) {
      return "P";
    } else if constexpr (std::is_floating_point_v<Field>) {
      return sizeof(Field) == 8 ? "d" : "f";
    } else if constexpr (std::is_integral_v<Field>) {
      const std::string letters = std::is_signed_v<Field> ? "bh_i___q" : "BH_I___Q";
      return letters.substr(sizeof(Field) - 1, 1);
    } else {
      const auto entry = names_.find(typeid(Field));
      if (entry == names_.end()) throw std::logic_error("a field's structure is not described");
      return entry->second;
    }
  }

  template <class Field>
  static std::string counts() {
    if constexpr (std::is_array_v<Field>) {
      return ' ' + std::to_string(std::extent_v<Field>) + counts<std::remove_extent_t<Field>>();
    } else {
      return "";
    }
  }

  std::map<std::type_index, std::string> names_;
  std::string text_;
};

#define GD_FIELD(Whole, name) .field<decltype(Whole::name)>(#name, offsetof(Whole, name))
#define GD_CONSTANT(name) .constant(#name, name)

}  // namespace geodomain

using namespace geodomain;

// clang-format off: one field on each line
namespace {

void describe_meshes(Layout& all) {
  all.structure<Vec3>("Vec3") GD_FIELD(Vec3, x) GD_FIELD(Vec3, y) GD_FIELD(Vec3, z);
  all.argument<MeshView>("MeshView")
      GD_FIELD(MeshView, vertices) GD_FIELD(MeshView, triangles) GD_FIELD(MeshView, triangle_count);
  all.argument<PointsView>("PointsView")
      GD_FIELD(PointsView, x) GD_FIELD(PointsView, y) GD_FIELD(PointsView, z)
      GD_FIELD(PointsView, stride_x) GD_FIELD(PointsView, stride_y) GD_FIELD(PointsView, stride_z);
  all.argument<Bounds>("Bounds") GD_FIELD(Bounds, low) GD_FIELD(Bounds, high);
  all.argument<RowList>("RowList") GD_FIELD(RowList, rows) GD_FIELD(RowList, count);
}

void describe_grids(Layout& all) {
  all.structure<Axis>("Axis") GD_FIELD(Axis, origin) GD_FIELD(Axis, scale) GD_FIELD(Axis, cells);
  all.structure<Frame>("Frame") GD_FIELD(Frame, x) GD_FIELD(Frame, y) GD_FIELD(Frame, z);
  all.structure<Grid>("Grid")
      GD_FIELD(Grid, frame) GD_FIELD(Grid, first_cell)
      GD_FIELD(Grid, bundle_begin) GD_FIELD(Grid, bundle_end);
  all.structure<Slabs>("Slabs").structure<List>("List").structure<Entry>("Entry");
  all.structure<Bundle>("Bundle").structure<HalvedVertex>("HalvedVertex");
  all.argument<GridView>("GridView")
      GD_FIELD(GridView, mesh) GD_FIELD(GridView, bounds) GD_FIELD(GridView, whole)
      GD_FIELD(GridView, grids) GD_FIELD(GridView, slabs) GD_FIELD(GridView, lists)
      GD_FIELD(GridView, entries) GD_FIELD(GridView, bundles) GD_FIELD(GridView, bundled)
      GD_FIELD(GridView, closed);
  all.argument<SingleView>("SingleView") GD_FIELD(SingleView, vertices) GD_FIELD(SingleView, reach);
  all.argument<Solid>("Solid") GD_FIELD(Solid, grid) GD_FIELD(Solid, single);
  all.argument<Solids>("Solids") GD_FIELD(Solids, solid) GD_FIELD(Solids, count);
  all.argument<Rim>("Rim") GD_FIELD(Rim, ends) GD_FIELD(Rim, weights) GD_FIELD(Rim, edge_count);
}

void describe_grid_building(Layout& all) {
  all.structure<Extent>("Extent").structure<Stamp>("Stamp").structure<Marking>("Marking");
  all.structure<Plan>("Plan")
      GD_FIELD(Plan, frame) GD_FIELD(Plan, cell_count) GD_FIELD(Plan, entry_count)
      GD_FIELD(Plan, crowds) GD_FIELD(Plan, longest) GD_FIELD(Plan, unsure_count)
      GD_FIELD(Plan, large_count);
  all.argument<Building>("Building")
      GD_FIELD(Building, mesh) GD_FIELD(Building, bounds) GD_FIELD(Building, plan)
      GD_FIELD(Building, slabs) GD_FIELD(Building, counts) GD_FIELD(Building, lists)
      GD_FIELD(Building, stamps) GD_FIELD(Building, unsure) GD_FIELD(Building, large);
}

void describe_lattices(Layout& all) {
  all.structure<Ruler>("Ruler")
      GD_FIELD(Ruler, value) GD_FIELD(Ruler, count) GD_FIELD(Ruler, axis) GD_FIELD(Ruler, first);
  all.argument<LatticeView>("LatticeView")
      GD_FIELD(LatticeView, x) GD_FIELD(LatticeView, y) GD_FIELD(LatticeView, z)
      GD_FIELD(LatticeView, words) GD_FIELD(LatticeView, bits);
  all.structure<Pairing>("Pairing");
  all.argument<Pairings>("Pairings")
      GD_FIELD(Pairings, pairs) GD_FIELD(Pairings, count) GD_FIELD(Pairings, room);
}

void describe_volumes(Layout& all) {
  all.argument<ShareLattice>("ShareLattice")
      GD_FIELD(ShareLattice, x) GD_FIELD(ShareLattice, y) GD_FIELD(ShareLattice, z)
      GD_FIELD(ShareLattice, steps) GD_FIELD(ShareLattice, entered) GD_FIELD(ShareLattice, words)
      GD_FIELD(ShareLattice, x_begin) GD_FIELD(ShareLattice, x_end);
  all.structure<BoxLeaf>("BoxLeaf").structure<BoxNode>("BoxNode");
  all.argument<BoxTreeView>("BoxTreeView")
      GD_FIELD(BoxTreeView, nodes) GD_FIELD(BoxTreeView, leaves) GD_FIELD(BoxTreeView, node_count);
  all.argument<BlocksView>("BlocksView")
      GD_FIELD(BlocksView, mesh) GD_FIELD(BlocksView, tree) GD_FIELD(BlocksView, rim)
      GD_FIELD(BlocksView, edges);
}

void describe_hierarchies(Layout& all) {
  all.argument<BoxFrame>("BoxFrame")
      GD_FIELD(BoxFrame, centre) GD_FIELD(BoxFrame, scale) GD_FIELD(BoxFrame, share);
  all.structure<Box>("Box").structure<PacketRange>("PacketRange").structure<Packet>("Packet");
  all.structure<WideNode>("WideNode")
      GD_FIELD(WideNode, origin) GD_FIELD(WideNode, exponent) GD_FIELD(WideNode, inner)
      GD_FIELD(WideNode, child) GD_FIELD(WideNode, packet) GD_FIELD(WideNode, leaf)
      GD_FIELD(WideNode, unused) GD_FIELD(WideNode, low) GD_FIELD(WideNode, high);
  all.argument<BinaryTree>("BinaryTree")
      GD_FIELD(BinaryTree, leaf_count) GD_FIELD(BinaryTree, codes) GD_FIELD(BinaryTree, triangles)
      GD_FIELD(BinaryTree, boxes) GD_FIELD(BinaryTree, child) GD_FIELD(BinaryTree, range)
      GD_FIELD(BinaryTree, around_node) GD_FIELD(BinaryTree, other_end) GD_FIELD(BinaryTree, root);
  all.argument<WideTree>("WideTree")
      GD_FIELD(WideTree, nodes) GD_FIELD(WideTree, source) GD_FIELD(WideTree, packets)
      GD_FIELD(WideTree, packet_count) GD_FIELD(WideTree, level_sizes);
  all.argument<BvhView>("BvhView")
      GD_FIELD(BvhView, nodes) GD_FIELD(BvhView, packets) GD_FIELD(BvhView, frame)
      GD_FIELD(BvhView, triangle_count);
  all.structure<Cylinder>("Cylinder");
  all.structure<FlatRow>("FlatRow");
  all.structure<NearestNode>("NearestNode");
  all.argument<NearestView>("NearestView")
      GD_FIELD(NearestView, frame) GD_FIELD(NearestView, nodes) GD_FIELD(NearestView, of_nodes) GD_FIELD(NearestView, of_packets)
      GD_FIELD(NearestView, rows) GD_FIELD(NearestView, mesh);
  all.argument<BruteView>("BruteView")
      GD_FIELD(BruteView, mesh) GD_FIELD(BruteView, boxes) GD_FIELD(BruteView, frame);
}

void describe_segments(Layout& all) {
  all.structure<Segment>("Segment") GD_FIELD(Segment, start) GD_FIELD(Segment, end);
  all.argument<SegmentRows>("SegmentRows")
      GD_FIELD(SegmentRows, segments) GD_FIELD(SegmentRows, order) GD_FIELD(SegmentRows, count);
  all.argument<Bins>("Bins")
      GD_FIELD(Bins, frame) GD_FIELD(Bins, size) GD_FIELD(Bins, count);
  all.argument<CurveBins>("CurveBins") GD_FIELD(CurveBins, frame) GD_FIELD(CurveBins, bits);
  all.structure<BinTicket>("BinTicket")
      GD_FIELD(BinTicket, bin) GD_FIELD(BinTicket, number);
  all.structure<Found>("Found") GD_FIELD(Found, t) GD_FIELD(Found, triangle);
}

void describe_constants(Layout& all) {
  all GD_CONSTANT(kUndecided);
  all GD_CONSTANT(kLeastMagnitude) GD_CONSTANT(kMostMagnitude);
  all GD_CONSTANT(kBlockThreads) GD_CONSTANT(kBuildThreads) GD_CONSTANT(kScannedCells);
  all GD_CONSTANT(kMostTrianglesBuilt);
  all GD_CONSTANT(kNoSolid) GD_CONSTANT(kNotFinite) GD_CONSTANT(kOpen);
  all GD_CONSTANT(kBitsInFlight) GD_CONSTANT(kBytesInFlight) GD_CONSTANT(kNotOnLattice);
  all GD_CONSTANT(kDevicePacket) GD_CONSTANT(kMostNoted) GD_CONSTANT(kWide) GD_CONSTANT(kLevels);
  all GD_CONSTANT(kKeyBits) GD_CONSTANT(kDigitBits) GD_CONSTANT(kDigits);
  all GD_CONSTANT(kBinsOfBlock) GD_CONSTANT(kRowsOfThread) GD_CONSTANT(kColumnsOfWarp);
  all GD_CONSTANT(kTouch) GD_CONSTANT(kCross) GD_CONSTANT(kFirstIn) GD_CONSTANT(kFirstOut);
  all GD_CONSTANT(kSecondIn) GD_CONSTANT(kSecondOut) GD_CONSTANT(kSame) GD_CONSTANT(kBack);
  all GD_CONSTANT(kUndetermined) GD_CONSTANT(kTooMany);
}

std::string description() {
  Layout all;
  describe_meshes(all);
  describe_grids(all);
  describe_grid_building(all);
  describe_lattices(all);
  describe_volumes(all);
  describe_hierarchies(all);
  describe_segments(all);
  describe_constants(all);
  return all.text();
}

}  // namespace
// clang-format on

// The description; it exists as long as the core.
GD_API const char* geodomain_layout() {
  static const std::string text = description();
  return text.c_str();
}
GD_DESCRIBE(geodomain_layout);

// The number of cells for which a device allocates memory, for a grid of this many triangles.
GD_API std::int64_t geodomain_most_cells(std::int64_t triangle_count, double density) {
  const Load load = {{}, static_cast<double>(triangle_count), {}, density, true};
  return static_cast<std::int64_t>(std::ceil(load.most_cells())) + 1;
}
GD_DESCRIBE(geodomain_most_cells);

// 1 if the host has to build the grid that a device has planned, otherwise 0.
GD_API int geodomain_is_for_the_host(const Plan* plan, std::int64_t triangle_count) {
  return is_for_the_host(*plan, triangle_count);
}
GD_DESCRIBE(geodomain_is_for_the_host);

// The number of nodes for which a device allocates memory, for a hierarchy over this many
// triangles.
GD_API std::int64_t geodomain_most_nodes(std::int64_t triangle_count) {
  return most_nodes<kDevicePacket>(triangle_count);
}
GD_DESCRIBE(geodomain_most_nodes);
