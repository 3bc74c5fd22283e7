// What WebGL draws: boxes, wireframes, the face of a cut, lines. Of blocks and wireframes, shaders
// leave out what lies beyond the plane of the cut; drillholes stay whole.

import * as THREE from "three";
import { CORNERS, EDGES } from "./model.js";

const CLIP = "if (dot(plane.xyz, vPlace) > plane.w) discard;";

const FACE_VERTEX = `
attribute vec3 tint, facing;
attribute vec2 unit;
varying vec3 vPlace, vNormal, vTint;
varying vec2 vUnit;
void main() {
  vPlace = position;
  vTint = tint;
  vUnit = unit;
  vNormal = normalMatrix * facing;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

// How dark the rim of a block is: a line about a pixel wide, none where blocks are small.
const RIM = `
float rim(vec2 unit, float darkness) {
  vec2 width = fwidth(unit) + 1e-6;
  vec2 pixels = (1.0 - abs(unit)) / width;
  float large = 1.0 - smoothstep(0.12, 0.4, max(width.x, width.y));
  return 1.0 - darkness * large * (1.0 - smoothstep(0.4, 1.3, min(pixels.x, pixels.y)));
}`;

const FACE_FRAGMENT = `
uniform vec4 plane;
varying vec3 vPlace, vNormal, vTint;
varying vec2 vUnit;
${RIM}
void main() {
  ${CLIP}
  float light = 0.58 + 0.42 * max(dot(normalize(vNormal), normalize(vec3(0.35, 0.55, 0.75))), 0.0);
  gl_FragColor = vec4(vTint * light * rim(vUnit, 0.4), 1.0);
  #include <colorspace_fragment>
}`;

const CUT_VERTEX = `
attribute vec3 tint;
attribute vec2 unit;
varying vec3 vTint;
varying vec2 vUnit;
void main() {
  vTint = tint;
  vUnit = unit;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const CUT_FRAGMENT = `
varying vec3 vTint;
varying vec2 vUnit;
${RIM}
void main() {
  gl_FragColor = vec4(vTint * rim(vUnit, 0.35), 1.0);
  #include <colorspace_fragment>
}`;

const MESH_VERTEX = `
varying vec3 vPlace, vSeen;
void main() {
  vPlace = position;
  vec4 seen = modelViewMatrix * vec4(position, 1.0);
  vSeen = seen.xyz;
  gl_Position = projectionMatrix * seen;
}`;

const MESH_FRAGMENT = `
uniform vec4 plane;
uniform vec3 tint;
uniform float opacity;
varying vec3 vPlace, vSeen;
void main() {
  ${CLIP}
  vec3 normal = normalize(cross(dFdx(vSeen), dFdy(vSeen)));
  float light = 0.5 + 0.5 * abs(dot(normal, normalize(vec3(0.35, 0.55, 0.75))));
  gl_FragColor = vec4(tint * light, opacity);
  #include <colorspace_fragment>
}`;

// One uniform that every clipped material shares.
export const plane = { value: new THREE.Vector4(0, 0, 0, 1) };

const SQUARE = [[-1, -1], [1, -1], [1, 1], [-1, 1]];

// The faces of blocks on a boundary; `which` are places in the model's shell.
export function shell(model, which, colours) {
  let count = 0;
  for (const i of which) count += bits(model.faces[i]);
  // Four corners to a face, all in one: small instances are slow where there is no graphics card.
  const places = new Float32Array(12 * count);
  const facing = new Float32Array(12 * count);
  const tint = new Float32Array(12 * count);
  const unit = new Int8Array(8 * count);
  const index = new Uint32Array(6 * count);
  const columns = [0, 1, 2].map((axis) => model.scene.matrix.map((row) => row[axis]));
  let at = 0;
  for (const i of which) {
    const block = model.shell[i];
    const centre = model.place(block);
    const size = model.size(block);
    const colour = colours[model.codes[block]];
    for (let face = 0; face < 6; face++) {
      if (!(model.faces[i] & (1 << face))) continue;
      const axis = face >> 1;
      const [one, two] = [(axis + 1) % 3, (axis + 2) % 3];
      const out = face & 1 ? 1 : -1;
      for (let corner = 0; corner < 4; corner++) {
        const vertex = 4 * at + corner;
        const [u, v] = SQUARE[corner];
        for (let each = 0; each < 3; each++) {
          places[3 * vertex + each] =
            centre[each] +
            (out * size[axis] * columns[axis][each] + u * size[one] * columns[one][each] + v * size[two] * columns[two][each]) / 2;
          facing[3 * vertex + each] = out * columns[axis][each];
          tint[3 * vertex + each] = colour[each];
        }
        unit[2 * vertex] = u;
        unit[2 * vertex + 1] = v;
      }
      index.set([0, 1, 2, 0, 2, 3].map((corner) => 4 * at + corner), 6 * at);
      at++;
    }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setIndex(new THREE.BufferAttribute(index, 1));
  for (const [name, array, parts] of [["position", places, 3], ["facing", facing, 3], ["tint", tint, 3], ["unit", unit, 2]]) {
    geometry.setAttribute(name, new THREE.BufferAttribute(array, parts));
  }
  const material = new THREE.ShaderMaterial({
    vertexShader: FACE_VERTEX,
    fragmentShader: FACE_FRAGMENT,
    uniforms: { plane },
    side: THREE.DoubleSide,
  });
  const mesh = new THREE.Mesh(geometry, material);
  mesh.frustumCulled = false;
  return mesh;
}

function bits(mask) {
  let count = 0;
  for (; mask; mask &= mask - 1) count++;
  return count;
}

export function wireframe(vertices, triangles, colour) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(vertices, 3));
  geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
  const material = new THREE.ShaderMaterial({
    vertexShader: MESH_VERTEX,
    fragmentShader: MESH_FRAGMENT,
    uniforms: { plane, tint: { value: new THREE.Vector3(...colour) }, opacity: { value: 0.32 } },
    transparent: true,
    depthWrite: false,
    side: THREE.DoubleSide,
  });
  return new THREE.Mesh(geometry, material);
}

// The polygons in which a plane cuts blocks; those with four corners have a rim.
export function face(model, blocks, axis, at, colours) {
  const places = [];
  const tints = [];
  const units = [];
  const index = [];
  for (const block of blocks) {
    const polygon = model.polygon(block, axis, at);
    const first = places.length / 3;
    polygon.forEach((place, i) => {
      places.push(...place);
      tints.push(...colours[model.codes[block]]);
      units.push(...(polygon.length === 4 ? SQUARE[i] : [0, 0]));
      if (i > 1) index.push(first, first + i - 1, first + i);
    });
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(places, 3));
  geometry.setAttribute("tint", new THREE.Float32BufferAttribute(tints, 3));
  geometry.setAttribute("unit", new THREE.Float32BufferAttribute(units, 2));
  geometry.setIndex(index);
  const filled = new THREE.ShaderMaterial({
    vertexShader: CUT_VERTEX,
    fragmentShader: CUT_FRAGMENT,
    side: THREE.DoubleSide,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  });
  const group = new THREE.Group();
  group.add(new THREE.Mesh(geometry, filled));
  return group;
}

// Where a plane cuts the triangles of a wireframe.
export function trace(vertices, triangles, axis, at, colour) {
  const lines = [];
  for (let i = 0; i < triangles.length; i += 3) {
    const ends = [];
    for (let corner = 0; corner < 3; corner++) {
      const one = 3 * triangles[i + corner];
      const two = 3 * triangles[i + ((corner + 1) % 3)];
      const low = vertices[one + axis];
      const high = vertices[two + axis];
      if (low > at === high > at) continue;
      const part = (at - low) / (high - low);
      for (let each = 0; each < 3; each++) {
        ends.push(each === axis ? at : vertices[one + each] + part * (vertices[two + each] - vertices[one + each]));
      }
    }
    if (ends.length === 6) lines.push(...ends);
  }
  return segments(lines, colour);
}

// Drillholes as lines through their points.
export function holes({ points, lengths }) {
  const lines = [];
  let first = 0;
  for (const length of lengths) {
    for (let i = first; i < first + length - 1; i++) lines.push(...points.subarray(3 * i, 3 * i + 6));
    first += length;
  }
  return segments(lines, 0x000000);
}

export function segments(places, colour) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(places, 3));
  return new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: colour }));
}

export function boxEdges(corner) {
  return EDGES.flatMap(([one, two]) => [...corner(CORNERS[one]), ...corner(CORNERS[two])]);
}

export function dispose(object) {
  object.traverse((part) => {
    part.geometry?.dispose();
    part.material?.dispose();
  });
  object.removeFromParent();
}
