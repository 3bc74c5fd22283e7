// The core as WebAssembly: memory for its inputs and outputs, and its functions, which give the
// same answers as the native core, bit for bit. See kernels/web/ for the C++ side.

const STATUS = ["done", "out of memory", "too large", "no thread", "undecided", "failed"];

// A call that failed. `status` is one of the texts above, or another reason; `row` is the point,
// vertex or triangle at fault, or -1.
export class CoreError extends Error {
  constructor(status, row = -1) {
    super(row < 0 ? status : `${status}: ${row}`);
    this.name = "CoreError";
    this.status = status;
    this.row = row;
  }
}

// Thrown through the core's own frames when a call cannot go on.
class CallEnds {
  constructor(status) {
    this.status = status;
  }
}

// An array in the core's memory. Its address does not change, but `array` must be read again after
// each call, because memory gets a new buffer when it grows.
class Room {
  constructor(core, kind, count, address) {
    Object.assign(this, { core, kind, count, address });
  }

  get array() {
    return new this.kind(this.core.memory.buffer, this.address, this.count);
  }

  at(index) {
    return this.address + index * this.kind.BYTES_PER_ELEMENT;
  }

  free() {
    this.core.exports.geodomain_free_memory(this.address);
    this.address = 0;
  }
}

const big = BigInt;
const words = (layers) => Math.ceil(layers / 64);

// An exact sum has this many lanes: digits of 32 bits with carries, the lowest first, in units of
// 2^UNIT.
export const LANES = 68;
const UNIT = -1088;

export class Core {
  // `module` is a WebAssembly.Module of core.wasm.
  constructor(module) {
    const page = {
      call_ends: (status) => {
        throw new CallEnds(status);
      },
    };
    this.exports = new WebAssembly.Instance(module, { page }).exports;
    this.memory = this.exports.memory;
    this.exports._initialize?.();
  }

  // Takes memory for `count` numbers of a kind of typed array. The caller frees it.
  take(kind, count) {
    const size = Math.max(count, 1) * kind.BYTES_PER_ELEMENT;
    const address = size < 2 ** 32 ? this.exports.geodomain_take_memory(size) >>> 0 : 0;
    if (!address) throw new CoreError("out of memory");
    return new Room(this, kind, count, address);
  }

  // Copies a typed array into the core's memory; the array may lie in this memory itself.
  put(array) {
    const { buffer, byteOffset, length, constructor } = array;
    const isHere = buffer === this.memory.buffer;
    const room = this.take(constructor, length);
    room.array.set(isHere ? new constructor(this.memory.buffer, byteOffset, length) : array);
    return room;
  }

  // Calls body({ take, put, keep }), then frees what it took and did not keep.
  using(body) {
    const rooms = new Set();
    const note = (room) => (rooms.add(room), room);
    const keep = (room) => (rooms.delete(room), room);
    try {
      return body({
        take: (kind, count) => note(this.take(kind, count)),
        put: (array) => note(this.put(array)),
        keep,
      });
    } finally {
      for (const room of rooms) room.free();
    }
  }

  // Calls a function that returns a status. A Room is passed as its address, and null as address 0.
  call(name, ...values) {
    const { exports } = this;
    const plain = values.map((value) => (value instanceof Room ? value.address : value ?? 0));
    const stack = exports.__stack_pointer.value;
    exports.geodomain_call_begins();
    let status;
    try {
      status = exports[`geodomain_${name}`](...plain);
    } catch (error) {
      if (!(error instanceof CallEnds)) throw error;
      exports.__stack_pointer.value = stack;
      exports.geodomain_call_ended();
      ({ status } = error);
    }
    if (status) throw new CoreError(STATUS[status]);
  }

  // A room with the addresses of some rooms; `put` is that of `using`, which frees it.
  addresses(rooms, put) {
    return put(Uint32Array.from(rooms, (room) => (room ? room.address : 0)));
  }

  // Checks and copies a mesh: vertices (v, 3) and triangles (t, 3). The copy has `bounds` (low x,
  // y, z and high x, y, z); `isClosed`; and `isBalanced`, whether its directed edges balance.
  openMesh(vertices, triangles) {
    return this.using(({ put }) => this.checkedMesh(put(vertices), put(triangles)));
  }

  checkedMesh(corners, rows) {
    return this.using(({ take, keep }) => {
      const mesh = {
        vertices: take(Float64Array, corners.count),
        triangles: take(Int32Array, rows.count),
        bounds: take(Float64Array, 6),
      };
      const faults = take(BigInt64Array, 2), flags = take(Int32Array, 2);
      const counts = [big(corners.count / 3), big(rows.count / 3)];
      this.call("mesh_check", corners, counts[0], rows, counts[1], 1, mesh.vertices,
        mesh.triangles, mesh.bounds, faults, flags);
      const [vertex, triangle] = faults.array;
      if (vertex >= 0n) throw new CoreError("vertex out of range", Number(vertex));
      if (triangle >= 0n) throw new CoreError("triangle out of range", Number(triangle));
      if (!flags.array[0] || !flags.array[1]) {
        const merged = take(Int32Array, corners.count / 3);
        this.call("merge_vertices", mesh.vertices, counts[0], merged);
        this.call("mesh_closed", mesh.triangles, counts[1], merged, 1, flags);
      }
      const [isClosed, isBalanced] = flags.array;
      Object.values(mesh).forEach(keep);
      return { ...mesh, counts, isClosed: isClosed === 1, isBalanced: isBalanced === 1 };
    });
  }

  freeMesh(mesh) {
    mesh.vertices.free(), mesh.triangles.free(), mesh.bounds.free();
  }

  // Copies a mesh and moves it by a vector: its components are added to each vertex, and each sum
  // is rounded once. Throws a CoreError if rounding makes a triangle flat.
  shiftMesh(mesh, shift) {
    return this.using(({ take, put, keep }) => {
      const moved = {
        vertices: take(Float64Array, mesh.vertices.count),
        triangles: put(mesh.triangles.array),
        bounds: take(Float64Array, 6),
      };
      const faults = take(BigInt64Array, 2);
      this.call("mesh_shift", mesh.vertices, mesh.counts[0], mesh.triangles, mesh.counts[1],
        mesh.bounds, put(Float64Array.from(shift)), moved.vertices, moved.bounds, faults);
      const [vertex, triangle] = faults.array;
      if (vertex >= 0n) throw new CoreError("vertex out of range", Number(vertex));
      if (triangle >= 0n) throw new CoreError("triangle collapses", Number(triangle));
      // Equal vertices stay equal, so edges that met still meet. Vertices that become equal may
      // close a mesh.
      if (!mesh.isBalanced) return this.checkedMesh(moved.vertices, moved.triangles);
      Object.values(moved).forEach(keep);
      return { ...mesh, ...moved };
    });
  }

  // A lattice: strictly increasing, finite coordinates along x, y and z.
  openLattice(x, y, z) {
    const axes = [x, y, z].map((axis) => this.put(Float64Array.from(axis)));
    const [nx, ny, layers] = axes.map((axis) => axis.count);
    return { axes, nx, ny, columns: nx * ny, layers, words: nx * ny * words(layers) };
  }

  // The mask of the blocks below an odd number of crossings of a mesh: inside a solid, below a
  // surface. Bits along z, in words for each column (x, y).
  latticeMask(mesh, lattice, mask = this.take(BigUint64Array, lattice.words)) {
    new Uint8Array(this.memory.buffer, mask.address, 8 * mask.count).fill(0);
    this.using(({ put }) => {
      const lengths = put(BigInt64Array.from(lattice.axes, (axis) => big(axis.count)));
      this.call("lattice_contains", mesh.vertices, mesh.counts[0], mesh.triangles,
        mesh.counts[1], this.addresses(lattice.axes, put), lengths, mask, 1);
    });
    return mask;
  }

  // The index of a mesh for points; `freePointIndex` frees it.
  openPointIndex(mesh, density = 8) {
    return this.using(({ take }) => {
      const handle = take(Uint32Array, 1);
      this.call("grid_create", mesh.vertices, mesh.triangles, mesh.counts[1], mesh.bounds,
        Number(mesh.isClosed), density, 1, handle);
      return handle.array[0];
    });
  }

  freePointIndex(index) {
    this.exports.geodomain_grid_free(index);
  }

  // Calls body(columns, strides, count) for a room of points (n, 3).
  withPoints(points, put, body) {
    const columns = put(Uint32Array.from([0, 1, 2], (axis) => points.at(axis)));
    return body(columns, put(BigInt64Array.of(24n, 24n, 24n)), big(points.count / 3));
  }

  askPoints(name, index, points, kind, width, more = []) {
    return this.using(({ take, put, keep }) => {
      const out = take(kind, (points.count / 3) * width), refused = put(BigInt64Array.of(-1n));
      this.withPoints(points, put, (columns, strides, count) =>
        this.call(name, index, columns, strides, count, ...more, 1, out, refused));
      if (refused.array[0] >= 0n) throw new CoreError("undecided", Number(refused.array[0]));
      return keep(out);
    });
  }

  // For a room of points (n, 3): 1 inside a solid or below a surface, otherwise 0.
  contains(index, points) {
    return this.askPoints("grid_contains", index, points, Uint8Array, 1);
  }

  // Crossings above and below each point, (n, 2).
  sides(index, points) {
    return this.askPoints("grid_sides", index, points, Int32Array, 2);
  }

  // Crossings above each point, or the sum of their signs.
  crossings(index, points, signed = false) {
    return this.askPoints("grid_crossings", index, points, Int32Array, 1, [Number(signed)]);
  }

  // 1 for points exactly on the mesh.
  onSurface(index, points) {
    return this.askPoints("grid_on_surface", index, points, Uint8Array, 1);
  }

  // Bytes as a mask: which of them are equal to a value.
  maskOfBytes(bytes, value = 1) {
    const mask = this.take(BigUint64Array, words(bytes.count));
    this.exports.geodomain_mask_of_bytes(bytes.address, big(bytes.count), value, mask.address);
    return mask;
  }

  // Gives each block the code of the first mask that has it, or the background: writes `codes`,
  // (columns, layers) bytes, and returns how many blocks each mask decides. For points, there is
  // one column. `order`: pairs of a mask and a code.
  firstMask(order, columns, layers, background, codes) {
    return this.using(({ take, put }) => {
      const counts = take(BigInt64Array, order.length);
      this.call("first_mask", this.addresses(order.map(([mask]) => mask), put),
        put(Uint8Array.from(order, ([, code]) => code)), order.length, big(columns), big(layers),
        background, codes, counts);
      return Array.from(counts.array, Number);
    });
  }

  // Exact sums of blocks by code and cut-off, as `geodomain tonnes` computes them. `volume` and
  // `density` are a number or a room, `grades` are rooms, and `cut` is one of these rooms or null;
  // a missing value is NaN. Returns an array for each code, with an entry for each interval between
  // cut-offs. `counts`: all blocks, those without volume, without density, and without each grade.
  // `sums`: volume and tonnes, and for each grade the tonnes that have it and the metal, as BigInts
  // in units of 2^UNIT.
  amounts(codes, codeCount, { volume, density, grades = [], cut = null, cutoffs = [] }) {
    return this.using(({ take, put }) => {
      const steps = cutoffs.length + 1, groups = codeCount * steps;
      const ofGroup = { counts: 3 + grades.length, sums: 2 + 2 * grades.length };
      const counts = take(BigInt64Array, groups * ofGroup.counts);
      const lanes = take(BigInt64Array, groups * ofGroup.sums * LANES);
      for (const room of [counts, lanes]) room.array.fill(0n);
      const refused = take(BigInt64Array, 1);
      const one = (amount) => (amount instanceof Room ? [0, amount] : [amount, null]);
      this.call("add_amounts", codes, big(codes.count), ...one(volume), ...one(density), cut,
        put(Float64Array.from(cutoffs)), cutoffs.length, this.addresses(grades, put),
        grades.length, groups, counts, lanes, refused);
      if (refused.array[0] >= 0n) throw new CoreError("too large", Number(refused.array[0]));
      const digits = lanes.array, numbers = counts.array;
      return Array.from({ length: codeCount }, (_, code) =>
        Array.from({ length: steps }, (_, step) => {
          const group = code * steps + step;
          return {
            counts: Array.from(
              numbers.subarray(group * ofGroup.counts, (group + 1) * ofGroup.counts), Number),
            sums: Array.from({ length: ofGroup.sums }, (_, sum) =>
              wholeOf(digits, (group * ofGroup.sums + sum) * LANES)),
          };
        }));
    });
  }

  // The index of a mesh for distances; `freeDistanceIndex` frees it.
  openDistanceIndex(mesh) {
    return this.using(({ take }) => {
      const handle = take(Uint32Array, 1);
      this.call("distance_create", mesh.vertices, mesh.triangles, mesh.counts[1], mesh.bounds, 1,
        handle);
      return handle.array[0];
    });
  }

  freeDistanceIndex(index) {
    this.exports.geodomain_distance_free(index);
  }

  // The distance of each point of a room (n, 3) from the mesh, NaN for a point that is not finite.
  distances(index, points) {
    return this.using(({ take, put, keep }) => {
      const out = take(Float64Array, points.count / 3), refused = put(BigInt64Array.of(-1n));
      this.withPoints(points, put, (columns, strides, count) =>
        this.call("distance_nearest", index, columns, strides, count, 1, out, null, null, refused));
      if (refused.array[0] >= 0n) throw new CoreError("undecided", Number(refused.array[0]));
      return keep(out);
    });
  }

  // The share of each block that lies inside a balanced mesh. `edges` are the block faces along x,
  // y and z; `mask` says which centres of blocks are inside.
  shares(mesh, edges, mask) {
    return this.using(({ take, put, keep }) => {
      const axes = edges.map((axis) => put(Float64Array.from(axis)));
      const weights = take(Int8Array, Number(mesh.counts[1]));
      this.exports.geodomain_projection_signs(mesh.vertices.address, mesh.triangles.address,
        mesh.counts[1], weights.address);
      const out = take(Float64Array, edges.reduce((all, axis) => all * (axis.length - 1), 1));
      this.call("shares_lattice", mesh.vertices, mesh.triangles, mesh.counts[1], weights,
        this.addresses(axes, put), put(BigInt64Array.from(edges, (axis) => big(axis.length))),
        mask, out, 1, take(BigInt64Array, 1));
      return keep(out);
    });
  }
}

// The number of hexadecimal digits.
function digitsOf(number) {
  return number.toString(16).length;
}

// The digits of an exact sum as one number.
function wholeOf(digits, first) {
  let whole = 0n;
  for (let lane = LANES - 1; lane >= 0; lane--) whole = (whole << 32n) + digits[first + lane];
  return whole;
}

// The double nearest to whole / weight, ties to even: as Python divides integers.
export function nearestDouble(whole, weight = 1n << big(-UNIT)) {
  if (whole === 0n) return 0;
  const sign = whole < 0n !== weight < 0n ? -1 : 1;
  let above = whole < 0n ? -whole : whole, below = weight < 0n ? -weight : weight;
  // The quotient has at least 53 bits. It is then rounded to the bits of a double: 53, or fewer
  // below the smallest normal number.
  const power = digitsOf(above) - digitsOf(below) - 16;
  if (power > 0) below <<= big(4 * power);
  else above <<= big(-4 * power);
  let quotient = above / below;
  const extra = Math.max(quotient.toString(2).length - 53, -1074 - 4 * power);
  const half = 1n << big(extra - 1), rest = quotient & ((half << 1n) - 1n);
  quotient >>= big(extra);
  if (rest > half || (rest === half && (above % below > 0n || quotient & 1n))) quotient += 1n;
  // Two steps, because 2^(power + extra) may be too small or too large for a double.
  const scale = 4 * power + extra, first = Math.trunc(scale / 2);
  return sign * (Number(quotient) * 2 ** first) * 2 ** (scale - first);
}
