// The blocks: where they are, which of them a plane cuts, which of them a ray meets.
// Places are from the scene's origin; the model's own axes may be turned.

import { unpack } from "./decode.js";

export class Model {
  static async read(scene) {
    const model = new Model();
    model.scene = scene;
    const [x, y, z, px, py, pz, kinds, rows, values, lengths, shell, faces] = await Promise.all(
      [
        ...scene.centres,
        ...scene.places,
        scene.kinds,
        scene.rows,
        scene.runs.values,
        scene.runs.lengths,
        scene.shell,
        scene.faces,
      ].map((entry) => entry && unpack(entry)),
    );
    Object.assign(model, { centres: [x, y, z], places: [px, py, pz], kinds, rows, shell, faces });
    model.codes = expanded(values, lengths, scene.count);
    model.columns = new Map();
    return model;
  }

  get count() {
    return this.scene.count;
  }

  // Along the blocks' own axes.
  local(block) {
    return [0, 1, 2].map((axis) => this.centres[axis][this.places[axis][block]]);
  }

  size(block) {
    return this.scene.sizes[this.kinds[block]];
  }

  place(block) {
    return this.toWorld(this.local(block));
  }

  toWorld([x, y, z]) {
    return this.scene.matrix.map((row) => row[0] * x + row[1] * y + row[2] * z);
  }

  toLocal([x, y, z]) {
    const m = this.scene.matrix;
    return [0, 1, 2].map((axis) => m[0][axis] * x + m[1][axis] * y + m[2][axis] * z);
  }

  // The blocks that a plane cuts; a block has its lower face and not its upper one.
  cut(axis, at, isShown) {
    return this.scene.turned ? this.#cutTurned(axis, at, isShown) : this.#cutStraight(axis, at, isShown);
  }

  #cutStraight(axis, at, isShown) {
    const kinds = this.scene.sizes.length;
    const centres = this.centres[axis];
    const isCut = new Uint8Array(centres.length * kinds);
    for (let place = 0; place < centres.length; place++) {
      for (let kind = 0; kind < kinds; kind++) {
        const half = this.scene.sizes[kind][axis] / 2;
        const offset = at - centres[place];
        isCut[place * kinds + kind] = -half <= offset && offset < half;
      }
    }
    const places = this.places[axis];
    const found = [];
    for (let block = 0; block < this.count; block++) {
      if (isCut[places[block] * kinds + this.kinds[block]] && isShown[this.codes[block]]) found.push(block);
    }
    return found;
  }

  #cutTurned(axis, at, isShown) {
    const row = this.scene.matrix[axis];
    const reach = this.scene.sizes.map(
      (size) => (Math.abs(row[0]) * size[0] + Math.abs(row[1]) * size[1] + Math.abs(row[2]) * size[2]) / 2,
    );
    const heights = this.centres.map((centres, part) => centres.map((value) => value * row[part]));
    const found = [];
    for (let block = 0; block < this.count; block++) {
      const height =
        heights[0][this.places[0][block]] + heights[1][this.places[1][block]] + heights[2][this.places[2][block]];
      const half = reach[this.kinds[block]];
      const offset = at - height;
      if (-half <= offset && offset < half && isShown[this.codes[block]]) found.push(block);
    }
    return found;
  }

  // The polygon in which a plane cuts a block, corner after corner.
  polygon(block, axis, at) {
    const centre = this.local(block);
    const size = this.size(block);
    const corners = CORNERS.map((corner) =>
      this.toWorld(corner.map((part, each) => centre[each] + part * size[each])),
    );
    const [one, two] = [0, 1, 2].filter((each) => each !== axis);
    const found = [];
    for (const [first, second] of EDGES) {
      const low = corners[first];
      const high = corners[second];
      if (low[axis] > at === high[axis] > at) continue;
      const part = (at - low[axis]) / (high[axis] - low[axis]);
      found.push(low.map((value, each) => (each === axis ? at : value + part * (high[each] - value))));
    }
    const middle = [one, two].map((each) => found.reduce((sum, p) => sum + p[each], 0) / found.length);
    const angle = (p) => Math.atan2(p[two] - middle[1], p[one] - middle[0]);
    return found.sort((p, q) => angle(p) - angle(q));
  }

  // How far along a ray some blocks are met first: {block, distance}, or nothing. A distance counts
  // where `isKept` says so of the place.
  firstAlong(start, direction, blocks, isKept) {
    const from = this.toLocal(start);
    const along = this.toLocal(direction);
    let best = null;
    for (const block of blocks) {
      const distance = this.#entry(block, from, along);
      if (distance === null || (best && distance >= best.distance)) continue;
      if (isKept(start.map((value, axis) => value + distance * direction[axis]))) best = { block, distance };
    }
    return best;
  }

  #entry(block, from, along) {
    const size = this.scene.sizes[this.kinds[block]];
    let near = 0;
    let far = Infinity;
    for (let axis = 0; axis < 3; axis++) {
      const offset = this.centres[axis][this.places[axis][block]] - from[axis];
      const half = size[axis] / 2;
      if (along[axis] === 0) {
        if (Math.abs(offset) > half) return null;
        continue;
      }
      const one = (offset - half) / along[axis];
      const two = (offset + half) / along[axis];
      near = Math.max(near, Math.min(one, two));
      far = Math.min(far, Math.max(one, two));
    }
    return near <= far ? near : null;
  }

  // The block that holds a place, among some.
  at(place, blocks) {
    const local = this.toLocal(place);
    return blocks.find((block) => {
      const size = this.scene.sizes[this.kinds[block]];
      return [0, 1, 2].every(
        (axis) => Math.abs(this.centres[axis][this.places[axis][block]] - local[axis]) <= size[axis] / 2 + 1e-9,
      );
    });
  }

  // The row of the file, from 0, and the block of a row.
  row(block) {
    return this.rows ? this.rows[block] : block;
  }

  blockOfRow(row) {
    if (!this.rows) return row >= 0 && row < this.count ? row : -1;
    return this.rows.indexOf(row);
  }

  // What the file says in a row: [column, text] each.
  async texts(row) {
    const cells = [];
    for (const column of this.scene.columns) {
      if (!this.columns.has(column.name)) {
        this.columns.set(column.name, await Promise.all([unpack(column.texts), unpack(column.codes)]));
      }
      const [texts, codes] = this.columns.get(column.name);
      cells.push([column.name, texts[codes[row]]]);
    }
    return cells;
  }
}

function expanded(values, lengths, count) {
  const codes = new Uint16Array(count);
  for (let run = 0, at = 0; run < values.length; at += lengths[run], run++) {
    codes.fill(values[run], at, at + lengths[run]);
  }
  return codes;
}

export const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) =>
  [4, 2, 1].map((bit) => (bits & bit ? 0.5 : -0.5)),
);
// Pairs of corners that differ in one coordinate.
export const EDGES = CORNERS.flatMap((_, one) =>
  [1, 2, 4].filter((bit) => !(one & bit)).map((bit) => [one, one | bit]),
);
