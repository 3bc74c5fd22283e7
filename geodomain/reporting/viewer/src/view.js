// The view: cameras, what is shown, the cut, picks. The page's controls call its methods.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import * as drawing from "./drawing.js";
import { CORNERS } from "./model.js";
import { Overlay } from "./overlay.js";

const LOOKS = {
  north: [0, -1, 0],
  south: [0, 1, 0],
  east: [-1, 0, 0],
  west: [1, 0, 0],
  down: [0, -1e-4, 1],
  oblique: [0.55, -1, 0.6],
};
// The side of the plane that is kept faces away from who looks obliquely.
const KEPT = [1, -1, 1];
const FIELD = 30;
// Pixels beside and above the model for coordinates, when it is looked at as a whole.
const BESIDE = 150;
const ABOVE = 90;

export class View {
  constructor(model, wireframes, holes, canvas, overlay) {
    this.model = model;
    this.canvas = canvas;
    const { origin, extent } = model.scene;
    this.extent = extent.map((corner) => corner.map((value, axis) => value - origin[axis]));
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.scene = new THREE.Scene();
    this.root = new THREE.Group();
    this.scene.add(this.root);
    this.overlay = new Overlay(overlay, this.extent, origin, model.scene.unit);
    this.colours = model.scene.labels.map((label) => rgb(label.colour));
    this.shown = model.scene.labels.map((label) => !label.ground && !label.hidden);
    this.cut = { axis: null, at: 0, flip: false, ground: true, blocks: [] };
    this.wireframes = wireframes.map((one) => this.#wireframe(one));
    const edges = drawing.boxEdges((corner) =>
      corner.map((part, axis) => (part < 0 ? this.extent[0][axis] : this.extent[1][axis])),
    );
    if (holes) this.root.add((this.holes = drawing.holes(holes)));
    this.frame = drawing.segments(edges, 0x888888);
    this.root.add(this.frame);
    this.#cameras();
    this.drawBlocks();
  }

  #wireframe(one) {
    const mesh = drawing.wireframe(one.vertices, one.triangles, rgb(one.colour));
    this.root.add(mesh);
    return { ...one, mesh };
  }

  #cameras() {
    this.perspective = new THREE.PerspectiveCamera(FIELD, 1, 1, 10);
    this.orthographic = new THREE.OrthographicCamera(-1, 1, 1, -1, -10, 10);
    for (const camera of [this.perspective, this.orthographic]) camera.up.set(0, 0, 1);
    this.camera = this.perspective;
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.addEventListener("change", () => this.render());
  }

  get radius() {
    const [low, high] = this.extent;
    const stretch = [1, 1, this.root.scale.z];
    return Math.hypot(...low.map((value, axis) => (high[axis] - value) * stretch[axis])) / 2;
  }

  get middle() {
    const [low, high] = this.extent;
    return new THREE.Vector3(...low.map((value, axis) => (value + high[axis]) / 2)).multiply(this.root.scale);
  }

  resize(width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.overlay.resize(width, height, ratio);
    this.aspect = width / height;
    this.room = [Math.max(0.4, 1 - BESIDE / width), Math.max(0.4, 1 - ABOVE / height)];
    this.#fitCameras();
    this.render();
  }

  #fitCameras() {
    this.perspective.aspect = this.aspect;
    const distance = this.camera.position.distanceTo(this.controls.target) || this.radius;
    this.perspective.near = Math.max(distance - 4 * this.radius, this.radius / 1000);
    this.perspective.far = distance + 4 * this.radius;
    this.perspective.updateProjectionMatrix();
    const half = this.radius / Math.min(1, this.aspect);
    Object.assign(this.orthographic, {
      left: -half * this.aspect, right: half * this.aspect, top: half, bottom: -half,
      near: -20 * this.radius, far: 20 * this.radius,
    });
    this.orthographic.updateProjectionMatrix();
  }

  look(name) {
    const away = new THREE.Vector3(...LOOKS[name]).normalize();
    this.controls.target.copy(this.middle);
    this.camera.position.copy(this.middle).addScaledVector(away, this.#distance(away));
    this.orthographic.zoom = this.#zoom(away);
    this.#fitCameras();
    this.controls.update();
    this.render();
  }

  // The corners of the model from its middle: to the right, up, and towards who looks.
  #corners(away) {
    const right = new THREE.Vector3(-away.y, away.x, 0).normalize();
    const up = new THREE.Vector3().crossVectors(away, right);
    const [low, high] = this.extent;
    return CORNERS.map((corner) => {
      const place = new THREE.Vector3(...corner.map((part, axis) => (part < 0 ? low[axis] : high[axis])));
      place.multiply(this.root.scale).sub(this.middle);
      return [place.dot(right), place.dot(up), place.dot(away)];
    });
  }

  // So far away that every corner is in the picture, with room for coordinates beside.
  #distance(away) {
    const slope = Math.tan((FIELD / 2) * (Math.PI / 180));
    return Math.max(...this.#corners(away).map(([right, up, near]) => near + this.#half(right, up) / slope));
  }

  #zoom(away) {
    const half = this.radius / Math.min(1, this.aspect);
    return half / Math.max(...this.#corners(away).map(([right, up]) => this.#half(right, up)));
  }

  // Half the height of a picture that holds a place, with room for coordinates.
  #half(right, up) {
    return Math.max(Math.abs(up) / this.room[1], Math.abs(right) / (this.aspect * this.room[0]));
  }

  project(name) {
    const other = name === "orthographic" ? this.orthographic : this.perspective;
    other.position.copy(this.camera.position);
    other.quaternion.copy(this.camera.quaternion);
    this.camera = this.controls.object = other;
    this.#fitCameras();
    this.controls.update();
    this.render();
  }

  exaggerate(factor) {
    const before = this.root.scale.z;
    this.root.scale.z = factor;
    this.controls.target.z *= factor / before;
    this.camera.position.z *= factor / before;
    this.#fitCameras();
    this.controls.update();
    this.render();
  }

  turn(right, up) {
    const offset = this.camera.position.clone().sub(this.controls.target);
    offset.applyAxisAngle(new THREE.Vector3(0, 0, 1), right);
    const side = new THREE.Vector3(-offset.y, offset.x, 0).normalize();
    const angle = offset.angleTo(new THREE.Vector3(0, 0, 1));
    if (angle - up > 0.02 && angle - up < Math.PI - 0.02) offset.applyAxisAngle(side, -up);
    this.camera.position.copy(this.controls.target).add(offset);
    this.controls.update();
    this.render();
  }

  zoom(factor) {
    if (this.camera === this.orthographic) this.orthographic.zoom *= factor;
    else {
      const offset = this.camera.position.clone().sub(this.controls.target);
      this.camera.position.copy(this.controls.target).addScaledVector(offset, 1 / factor);
    }
    this.#fitCameras();
    this.controls.update();
    this.render();
  }

  // Bring a place into the middle, near enough to see blocks, and mark it.
  goTo(place) {
    const seen = new THREE.Vector3(...place).multiply(this.root.scale);
    const offset = this.camera.position.clone().sub(this.controls.target);
    offset.setLength(Math.min(offset.length(), this.radius));
    this.controls.target.copy(seen);
    this.camera.position.copy(seen).add(offset);
    this.overlay.marker = place;
    this.#fitCameras();
    this.controls.update();
    this.render();
  }

  showLabel(label, isShown) {
    this.shown[label] = isShown;
    this.drawBlocks();
    this.drawCut();
  }

  showWireframe(domain, isShown) {
    for (const one of this.wireframes) if (one.domain === domain) one.mesh.visible = isShown;
    this.drawCut();
  }

  showHoles(isShown) {
    this.holes.visible = isShown;
    this.render();
  }

  drawBlocks() {
    if (this.boxes) drawing.dispose(this.boxes);
    const { shell, codes } = this.model;
    const which = [...shell.keys()].filter((i) => this.shown[codes[shell[i]]]);
    this.drawn = which.map((i) => shell[i]);
    this.boxes = drawing.shell(this.model, which, this.colours);
    this.root.add(this.boxes);
    this.render();
  }

  drawCut() {
    const { axis, at, flip, ground } = this.cut;
    if (this.cutFace) drawing.dispose(this.cutFace);
    this.cutFace = null;
    this.cut.blocks = [];
    drawing.plane.value.set(0, 0, 0, 1);
    if (axis !== null) {
      const side = KEPT[axis] * (flip ? -1 : 1);
      drawing.plane.value.set(...[0, 1, 2].map((each) => (each === axis ? side : 0)), side * at);
      const labels = this.model.scene.labels;
      const isShown = labels.map((label, i) => (label.ground ? ground : this.shown[i]));
      this.cut.blocks = this.model.cut(axis, at, isShown);
      this.cutFace = drawing.face(this.model, this.cut.blocks, axis, at, this.colours);
      for (const one of this.wireframes.filter((each) => each.mesh.visible)) {
        const dark = new THREE.Color(one.colour).multiplyScalar(0.45);
        this.cutFace.add(drawing.trace(one.vertices, one.triangles, axis, at, dark));
      }
      this.root.add(this.cutFace);
    }
    this.render();
  }

  // The block that is seen at a point of the canvas, both from -1 to 1, or nothing.
  pick(x, y) {
    const caster = new THREE.Raycaster();
    caster.setFromCamera(new THREE.Vector2(x, y), this.camera);
    const stretch = this.root.scale.z;
    const start = [caster.ray.origin.x, caster.ray.origin.y, caster.ray.origin.z / stretch];
    const direction = [caster.ray.direction.x, caster.ray.direction.y, caster.ray.direction.z / stretch];
    const kept = drawing.plane.value;
    const isKept = ([a, b, c]) => kept.x * a + kept.y * b + kept.z * c <= kept.w;
    const found = this.model.firstAlong(start, direction, this.drawn, isKept);
    const { axis, at, blocks } = this.cut;
    if (axis !== null && direction[axis]) {
      const distance = (at - start[axis]) / direction[axis];
      if (distance > 0 && !(found && found.distance < distance)) {
        const place = start.map((value, each) => (each === axis ? at : value + distance * direction[each]));
        const block = this.model.at(place, blocks);
        if (block !== undefined) return block;
      }
    }
    return found ? found.block : null;
  }

  outline(block) {
    if (this.outlined) drawing.dispose(this.outlined);
    const centre = this.model.local(block);
    const size = this.model.size(block);
    const corner = (part) => this.model.toWorld(part.map((value, axis) => centre[axis] + value * size[axis]));
    this.outlined = drawing.segments(drawing.boxEdges(corner), 0xd81b60);
    this.outlined.material.depthTest = false;
    this.outlined.renderOrder = 9;
    this.root.add(this.outlined);
    this.render();
  }

  paint(style) {
    this.scene.background = new THREE.Color(style.getPropertyValue("--tint").trim());
    this.ink = style.getPropertyValue("--ink").trim();
    this.frame.material.color.set(style.getPropertyValue("--soft").trim());
    this.paper = style.getPropertyValue("--tint").trim();
    this.holes?.material.color.set(style.getPropertyValue("--hole").trim());
    this.render();
  }

  // Once for all that has changed since the last picture.
  render() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  draw() {
    this.root.updateMatrixWorld();
    this.renderer.render(this.scene, this.camera);
    const printing = document.documentElement.hasAttribute("data-printing");
    const colours = [this.ink || "#222", this.paper || "#fff"];
    this.overlay.draw(this.camera, this.root, this.controls.target, ...colours, printing && this.canvas);
    this.canvas.dataset.pictures = 1 + Number(this.canvas.dataset.pictures || 0);
  }
}

// Linear parts of a colour, as shaders take them.
function rgb(colour) {
  return new THREE.Color(colour).toArray();
}
