// Words and marks over the view: coordinates along the edges of the model, north, a scale.

import * as THREE from "three";

const FONT = '12px system-ui, -apple-system, "Segoe UI", sans-serif';

export class Overlay {
  constructor(canvas, extent, origin, unit) {
    this.unit = unit ? ` ${unit}` : "";
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.extent = extent;
    this.origin = origin;
    this.marker = null;
  }

  resize(width, height, ratio) {
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.size = [width, height];
    this.ratio = ratio;
  }

  draw(camera, root, target, ink, paper, under) {
    const context = this.context;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, ...this.size);
    context.font = FONT;
    Object.assign(context, { fillStyle: ink, strokeStyle: ink, lineWidth: 1.5 });
    this.project = (place) => {
      const seen = new THREE.Vector3(...place).applyMatrix4(root.matrixWorld).project(camera);
      return [((seen.x + 1) / 2) * this.size[0], ((1 - seen.y) / 2) * this.size[1], seen.z];
    };
    for (const axis of [0, 1, 2]) this.#ticks(axis);
    this.#directions(camera);
    this.#scale(camera, target, ink, paper);
    if (this.marker) this.#mark(this.marker);
    if (under) this.#under(under);
  }

  // On paper the picture of the model is part of this canvas: browsers print WebGL as an empty box.
  #under(canvas) {
    const context = this.context;
    context.globalCompositeOperation = "destination-over";
    context.drawImage(canvas, 0, 0, ...this.size);
    context.globalCompositeOperation = "source-over";
  }

  // Coordinates along the edge of the box that lies outermost.
  #ticks(axis) {
    const [low, high] = this.extent;
    const middle = this.project(low.map((value, each) => (value + high[each]) / 2));
    const [one, two] = [0, 1, 2].filter((each) => each !== axis);
    let best = null;
    for (const [a, b] of [[low, low], [low, high], [high, low], [high, high]]) {
      if (axis !== 2 && b !== low) continue;
      const start = [...low];
      start[one] = a[one];
      start[two] = b[two];
      const end = [...start];
      end[axis] = high[axis];
      const [p, q] = [this.project(start), this.project(end)];
      const score = axis === 2 ? -(p[0] + q[0]) : p[1] + q[1];
      if (!best || score > best.score) best = { start, end, p, q, score };
    }
    const length = Math.hypot(best.q[0] - best.p[0], best.q[1] - best.p[1]);
    if (length < 60) return;
    const centre = [(best.p[0] + best.q[0]) / 2, (best.p[1] + best.q[1]) / 2];
    const away = [centre[0] - middle[0], centre[1] - middle[1]];
    const norm = Math.hypot(...away) || 1;
    const out = [away[0] / norm, away[1] / norm];
    const context = this.context;
    for (const value of ticks(low[axis] + this.origin[axis], high[axis] + this.origin[axis], length / (axis === 2 ? 40 : 110))) {
      const place = [...best.start];
      place[axis] = value - this.origin[axis];
      const [x, y, depth] = this.project(place);
      if (depth < -1 || depth > 1) continue;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + 6 * out[0], y + 6 * out[1]);
      context.stroke();
      this.#word(shown(value), x + 11 * out[0], y + 13 * out[1], out);
    }
    const name = ["x, east", "y, north", "z, up"][axis] + (this.unit && ` (${this.unit.trim()})`);
    const apart = axis === 2 ? 78 : 40;
    const end = this.project(best.end);
    if (axis === 2) this.#word(name, end[0] + 8 * out[0], end[1] - 16, [0, -1]);
    else this.#word(name, centre[0] + apart * out[0], centre[1] + apart * out[1], out);
  }

  #word(text, x, y, out) {
    const context = this.context;
    context.textAlign = out[0] < -0.35 ? "right" : out[0] > 0.35 ? "left" : "center";
    context.textBaseline = "middle";
    context.fillText(text, x, y);
  }

  #directions(camera) {
    const context = this.context;
    const foot = [this.size[0] - 62, this.size[1] - 58];
    const turn = new THREE.Matrix4().extractRotation(camera.matrixWorldInverse);
    [["E", 1, 0, 0], ["N", 0, 1, 0], ["Up", 0, 0, 1]].forEach(([name, ...direction]) => {
      const seen = new THREE.Vector3(...direction).applyMatrix4(turn);
      const [x, y] = [seen.x, -seen.y];
      if (Math.hypot(x, y) < 0.15) return;
      context.lineWidth = name === "N" ? 3.5 : 1.5;
      arrow(context, foot, [foot[0] + 34 * x, foot[1] + 34 * y]);
      context.font = name === "N" ? `bold ${FONT}` : FONT;
      this.#word(name, foot[0] + 47 * x, foot[1] + 47 * y, [0, 0]);
    });
    context.font = FONT;
    context.lineWidth = 1.5;
  }

  #scale(camera, target, ink, paper) {
    const context = this.context;
    const right = new THREE.Vector3().setFromMatrixColumn(camera.matrixWorld, 0);
    const one = target.clone().project(camera);
    const two = target.clone().add(right).project(camera);
    const pixels = ((two.x - one.x) / 2) * this.size[0];
    if (!(pixels > 0)) return;
    const length = roundLength(Math.min(160, this.size[0] / 4) / pixels);
    const [x, y] = [18, this.size[1] - 20];
    const where = camera.isPerspectiveCamera ? " at the centre" : "";
    const words = `${shown(length)}${this.unit}${where}`;
    // On a ground of its own: coordinates may be where it stands.
    context.fillStyle = paper;
    context.fillRect(x - 6, y - 25, Math.max(length * pixels, context.measureText(words).width) + 12, 30);
    context.fillStyle = ink;
    context.lineWidth = 3;
    context.beginPath();
    context.moveTo(x, y - 6);
    context.lineTo(x, y);
    context.lineTo(x + length * pixels, y);
    context.lineTo(x + length * pixels, y - 6);
    context.stroke();
    context.textAlign = "left";
    context.fillText(words, x, y - 16);
  }

  #mark(place) {
    const [x, y, depth] = this.project(place);
    if (depth < -1 || depth > 1) return;
    const context = this.context;
    context.lineWidth = 3;
    context.strokeStyle = "#d81b60";
    context.beginPath();
    context.arc(x, y, 11, 0, 7);
    context.moveTo(x - 18, y);
    context.lineTo(x + 18, y);
    context.moveTo(x, y - 18);
    context.lineTo(x, y + 18);
    context.stroke();
  }
}

function arrow(context, from, to) {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  for (const side of [-0.5, 0.5]) {
    context.moveTo(...to);
    context.lineTo(to[0] - 8 * Math.cos(angle + side), to[1] - 8 * Math.sin(angle + side));
  }
  context.stroke();
}

export function shown(value) {
  return Number(value.toPrecision(12)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}

export function roundLength(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return [5, 2, 1].find((step) => step * power <= length * (1 + 1e-9)) * power;
}

export function ticks(low, high, most) {
  const least = (high - low) / Math.max(2, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((one) => one * power >= least * (1 - 1e-9)) * power;
  const found = [];
  for (let number = Math.ceil(low / step - 1e-9); number <= high / step + 1e-9; number++) {
    found.push(number * step);
  }
  return found;
}
