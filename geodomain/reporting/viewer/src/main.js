// What a report does in the browser: steps through the sections, and brings the view to life.

import { unpack } from "./decode.js";
import { Model } from "./model.js";
import { shown } from "./overlay.js";
import { View } from "./view.js";

const find = (name) => document.getElementById(name);

function stepThroughSections() {
  const figures = [...document.querySelectorAll("figure[data-section]")];
  const choice = find("section-choice");
  const show = (number) => {
    const at = (number + figures.length) % figures.length;
    figures.forEach((figure, i) => (figure.hidden = i !== at));
    choice.value = at;
  };
  choice.addEventListener("change", () => show(Number(choice.value)));
  find("section-back").addEventListener("click", () => show(Number(choice.value) - 1));
  find("section-on").addEventListener("click", () => show(Number(choice.value) + 1));
  // A small section of a domain links to the large one, which may be hidden.
  document.querySelectorAll('a[href^="#section-"]').forEach((link) => {
    link.addEventListener("click", () => show(Number(link.hash.slice("#section-".length))));
  });
  find("strip").hidden = false;
  show(Math.max(0, figures.findIndex((figure) => figure.dataset.first)));
}

async function start() {
  const scene = JSON.parse(find("scene").textContent);
  const model = await Model.read(scene);
  const wireframes = await Promise.all(
    scene.wireframes.map(async (one) => ({
      ...one,
      vertices: await unpack(one.vertices),
      triangles: await unpack(one.triangles),
    })),
  );
  const holes = scene.holes && {
    names: scene.holes.names,
    points: await unpack(scene.holes.points),
    lengths: await unpack(scene.holes.lengths),
  };
  const canvas = find("canvas");
  find("viewer").hidden = false;
  const view = new View(model, wireframes, holes, canvas, find("overlay"));
  find("no-view").hidden = true;
  canvas.setAttribute("aria-label", describe(model));
  fit(view);
  view.look("oblique");
  follow(view);
  connectCut(view);
  connectLooks(view);
  connectDomains(view);
  connectHoles(view);
  connectPicks(view);
  connectPlaces(view);
  document.body.dataset.ready = "yes";
}

function describe(model) {
  const names = model.scene.labels.filter((label) => !label.ground).map((label) => label.name);
  return `The model in three dimensions: ${model.count.toLocaleString("en-US")} blocks; domains ${names.join(", ")}`;
}

function fit(view) {
  const stage = find("stage");
  const resize = () => view.resize(stage.clientWidth, stage.clientHeight);
  new ResizeObserver(resize).observe(stage);
  resize();
}

// Light and dark, as the page is; white on paper.
function follow(view) {
  const root = document.documentElement;
  const paint = () => view.paint(getComputedStyle(root));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  for (const event of ["beforeprint", "afterprint"]) {
    addEventListener(event, () => {
      root.toggleAttribute("data-printing", event === "beforeprint");
      paint();
      view.draw();
    });
  }
  paint();
}

function connectCut(view) {
  const [axis, range, at, flip, ground] = ["axis", "range", "at", "flip", "ground"].map((name) => find(`cut-${name}`));
  const { origin, extent } = view.model.scene;
  const low = () => extent[0][view.cut.axis];
  const length = () => extent[1][view.cut.axis] - low();
  const apply = (value) => {
    view.cut.at = value - (view.cut.axis === null ? 0 : origin[view.cut.axis]);
    view.drawCut();
  };
  const slide = () => {
    const value = low() + (length() * Number(range.value)) / 1000;
    at.value = Number(value.toPrecision(10));
    range.setAttribute("aria-valuetext", shown(Number(at.value)));
    apply(Number(at.value));
  };
  axis.addEventListener("change", () => {
    view.cut.axis = axis.value === "" ? null : Number(axis.value);
    for (const control of [range, at, flip, ground]) control.disabled = view.cut.axis === null;
    if (view.cut.axis === null) apply(0);
    else set(amid(view.model, view.cut.axis));
  });
  range.addEventListener("input", slide);
  const set = (value) => {
    at.value = value;
    range.value = (1000 * (value - low())) / length();
    range.setAttribute("aria-valuetext", shown(value));
    apply(value);
  };
  at.addEventListener("change", () => at.value !== "" && set(Number(at.value)));
  for (const [control, name] of [[flip, "flip"], [ground, "ground"]]) {
    control.addEventListener("change", () => {
      view.cut[name] = control.checked;
      view.drawCut();
    });
  }
}

// A coordinate near the middle, amid blocks and not on a face where they are along the axes.
function amid({ scene, centres }, axis) {
  const middle = (scene.extent[0][axis] + scene.extent[1][axis]) / 2;
  if (scene.turned) return Number(middle.toPrecision(10));
  const near = centres[axis].reduce((best, value) =>
    Math.abs(value + scene.origin[axis] - middle) < Math.abs(best + scene.origin[axis] - middle) ? value : best,
  );
  return Number((near + scene.origin[axis]).toPrecision(12));
}

function connectLooks(view) {
  for (const button of document.querySelectorAll("[data-look]")) {
    button.addEventListener("click", () => view.look(button.dataset.look));
  }
  find("projection").addEventListener("change", (event) => view.project(event.target.value));
  find("exaggeration").addEventListener("change", (event) => {
    const factor = Number(event.target.value);
    if (factor > 0) view.exaggerate(factor);
  });
}

function connectDomains(view) {
  for (const box of document.querySelectorAll("[data-label]")) {
    box.addEventListener("change", () => view.showLabel(Number(box.dataset.label), box.checked));
  }
  for (const box of document.querySelectorAll("[data-wireframe]")) {
    box.addEventListener("change", () => view.showWireframe(box.dataset.wireframe, box.checked));
    if (!box.checked) view.showWireframe(box.dataset.wireframe, false);
  }
}

function connectHoles(view) {
  find("holes")?.addEventListener("change", (event) => view.showHoles(event.target.checked));
}

const TURNS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function connectPicks(view) {
  const canvas = view.canvas;
  let pressed = null;
  canvas.addEventListener("pointerdown", (event) => (pressed = [event.clientX, event.clientY]));
  canvas.addEventListener("pointerup", (event) => {
    if (!pressed || Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4) return;
    const box = canvas.getBoundingClientRect();
    const x = (2 * (event.clientX - box.left)) / box.width - 1;
    const y = 1 - (2 * (event.clientY - box.top)) / box.height;
    tell(view, view.pick(x, y));
  });
  canvas.addEventListener("keydown", (event) => {
    if (TURNS[event.key]) view.turn(...TURNS[event.key].map((part) => (part * Math.PI) / 36));
    else if (event.key === "+" || event.key === "=") view.zoom(1.2);
    else if (event.key === "-") view.zoom(1 / 1.2);
    else if (event.key === "Enter") tell(view, view.pick(0, 0));
    else return;
    event.preventDefault();
  });
  find("row").addEventListener("change", (event) => {
    const block = view.model.blockOfRow(Number(event.target.value) - 1);
    tell(view, block < 0 ? null : block);
  });
}

// Show what the file says of a block, in a region that screen readers read out.
async function tell(view, block) {
  const out = find("picked");
  if (block === null) {
    out.replaceChildren(Object.assign(document.createElement("p"), { textContent: "No block there." }));
    return;
  }
  view.outline(block);
  const row = view.model.row(block);
  const table = document.createElement("table");
  const caption = table.createCaption();
  caption.textContent = `Row ${(row + 1).toLocaleString("en-US")} of the file`;
  for (const [name, text] of await view.model.texts(row)) {
    const line = table.insertRow();
    const heading = document.createElement("th");
    heading.scope = "row";
    heading.textContent = name;
    line.append(heading);
    line.insertCell().textContent = text;
  }
  out.replaceChildren(table);
}

// Places in warnings lead into the view.
function connectPlaces(view) {
  const { origin } = view.model.scene;
  for (const link of document.querySelectorAll("[data-at]")) {
    link.addEventListener("click", () => {
      view.goTo(link.dataset.at.split(",").map((part, axis) => Number(part) - origin[axis]));
    });
  }
}

stepThroughSections();
start().catch((error) => {
  find("viewer").hidden = true;
  find("no-view").textContent = `This view could not be drawn (${error.message}). The tables and sections of this page show the same model.`;
});
