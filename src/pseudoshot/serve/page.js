// One direction: examples change, the server labels every image, everything is drawn again.

import * as requests from "./requests.js";

const COLOURS = ["#1f6fa8", "#c0392b", "#237a4b", "#8e5ea2", "#a05f00", "#00727f", "#7a4a2b", "#5361b8", "#56731a", "#b0307f"];
const EVERYTHING = null, PAGE = 120, NONE_OF_THESE = "none of these";

const state = {
  names: [],
  order: [], // images before anything is known: those to label first, then the others
  classes: [], // names, in the order they were given
  examples: new Map(), // image -> class name
  result: null, // the server's labels
  chosen: null, // the class that a click puts an image in
  group: EVERYTHING, // what the grid shows: everything, or one label
  shown: PAGE,
  session: "", // of the server, which numbers images anew at every start
  storage: "", // where the browser remembers this folder's examples
};

const $ = (id) => document.getElementById(id);

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function colour(name) {
  const place = state.classes.indexOf(name);
  return place < 0 ? "var(--soft)" : COLOURS[place % COLOURS.length];
}

// ---- the server

const reject = () => Number($("reject").value) / 100;

let latest = 0;
async function classify() {
  const mine = ++latest;
  const enough = new Set(state.examples.values()).size >= 2;
  const result = enough ? await requests.classify(state.examples, reject()) : null;
  if (mine !== latest) return; // examples have changed meanwhile
  state.result = result;
  draw();
}

async function upload(files) {
  $("status").textContent = `adding ${files.length} images …`;
  const refused = await requests.upload(files);
  await load();
  await classify();
  if (refused.length) throw new Error(refused.slice(0, 5).join(" · ") + (refused.length > 5 ? " …" : ""));
}

async function load() {
  const about = await requests.images();
  const first = new Set(about.suggested);
  if (about.session !== state.session) tiles.clear();
  state.names = about.names;
  state.session = about.session;
  state.storage = `pseudoshot:${about.folder ?? about.session}`;
  state.order = [...about.suggested, ...[...about.names.keys()].filter((image) => !first.has(image))];
  $("end").title = about.skipped.join("\n");
  state.skipped = about.skipped.length;
  draw();
}

// ---- what a person does

const attempt = (action) => async (...given) => {
  try {
    $("message").hidden = true;
    await action(...given);
  } catch (error) {
    $("message").textContent = error.message;
    $("message").hidden = false;
  }
};

function addClass(name) {
  if (name === NONE_OF_THESE) throw new Error(`“${name}” is for images of no class: name a class otherwise`);
  if (name && !state.classes.includes(name)) state.classes.push(name);
  state.chosen = name || state.chosen;
  remember();
  draw();
}

async function removeClass(name) {
  state.classes = state.classes.filter((other) => other !== name);
  for (const [image, label] of state.examples) if (label === name) state.examples.delete(image);
  if (state.chosen === name) state.chosen = state.classes.at(-1) ?? null;
  remember();
  await classify();
}

async function assign(image, name) {
  if (name === null) return $("class-name").focus();
  if (state.examples.get(image) === name) state.examples.delete(image);
  else state.examples.set(image, name);
  remember();
  await classify();
}

function remember() {
  const kept = { classes: state.classes, examples: [...state.examples].map(([i, label]) => [state.names[i], label]) };
  localStorage.setItem(state.storage, JSON.stringify(kept));
}

function recall() {
  const kept = JSON.parse(localStorage.getItem(state.storage) ?? "null");
  if (!kept) return;
  const place = new Map(state.names.map((name, image) => [name, image]));
  state.classes = kept.classes;
  state.examples = new Map(kept.examples.filter(([name]) => place.has(name)).map(([name, label]) => [place.get(name), label]));
  state.chosen = state.classes.at(-1) ?? null;
}

// ---- what is drawn

function inOrder() {
  const { result, group } = state;
  if (!result) return state.order;
  const images = [...state.names.keys()].filter((image) => image < result.labels.length);
  const some = group === EVERYTHING ? images : images.filter((image) => result.labels[image] === group);
  const rank = (image) => (state.examples.has(image) ? 2 : result.confidences[image]);
  return some.sort((a, b) => rank(a) - rank(b)); // examples, of which nobody doubts, come last
}

function draw() {
  const labels = new Set([...state.classes, ...(state.result?.labels ?? [])]);
  if (!state.result || !labels.has(state.group)) state.group = EVERYTHING;
  const focused = place(document.activeElement);
  drawClasses();
  drawGroups();
  drawGrid();
  focused()?.focus();
  const ready = state.result !== null;
  for (const id of ["csv", "classifier"]) $(id).disabled = !ready;
  $("forget").disabled = state.classes.length === 0;
  $("hint").textContent = hint();
  const labelled = state.examples.size === 1 ? "1 example" : `${state.examples.size} examples`;
  $("status").textContent = !state.names.length
    ? "No images yet."
    : state.result
      ? `${state.names.length.toLocaleString()} images sorted from ${labelled}, the most doubtful first. ${state.result.quality}`
      : `${state.names.length.toLocaleString()} images; those that tell most come first`;
}

// Where someone who uses keys was: the same button drawn anew, or the same place in the grid.
function place(focused) {
  const inClasses = focused.closest(".class"), inGroups = focused.closest("#groups button");
  const index = [...$("grid").children].indexOf(focused);
  const find = (selector, same) => [...document.querySelectorAll(selector)].find(same);
  if (!focused.matches(":focus-visible")) return () => null;
  if (inClasses) return () => find(".class", (item) => item.dataset.label === inClasses.dataset.label)?.firstChild;
  if (inGroups) return () => find("#groups button", (button) => button.group === inGroups.group);
  if (index >= 0) return () => [...$("grid").children].slice(0, index + 1).at(-1);
  return () => null;
}

function hint() {
  if (!state.classes.length) return "Name a class to begin, then click a few images that belong to it.";
  if (!state.examples.size) return `Click images of “${state.chosen}”, or drag them here.`;
  if (new Set(state.examples.values()).size < 2) return "Now add a second class and an example of it.";
  return "Choose a class, then click any image that is in the wrong one: everything is sorted again.";
}

function drawClasses() {
  const counts = new Map();
  for (const label of state.examples.values()) counts.set(label, (counts.get(label) ?? 0) + 1);
  $("classes").replaceChildren(
    ...state.classes.map((name) => {
      const item = element("li", "class" + (name === state.chosen ? " chosen" : ""));
      item.style.setProperty("--colour", colour(name));
      item.dataset.label = name;
      const pick = element("button", "pick");
      pick.setAttribute("aria-pressed", String(name === state.chosen));
      const examples = counts.get(name) ?? 0;
      pick.append(element("span", "dot"), element("span", "name", name), element("span", "count", `${examples} given`));
      pick.onclick = attempt(() => addClass(name));
      const remove = element("button", "remove", "×");
      remove.setAttribute("aria-label", `remove class ${name}`);
      remove.onclick = attempt(() => removeClass(name));
      item.ondragover = (event) => {
        event.preventDefault();
        item.classList.add("over");
      };
      item.ondragleave = () => item.classList.remove("over");
      item.ondrop = attempt(async (event) => {
        event.preventDefault();
        const image = Number(event.dataTransfer.getData("text/pseudoshot-image") || NaN);
        if (Number.isInteger(image) && state.examples.get(image) !== name) await assign(image, name);
      });
      item.append(pick, remove);
      return item;
    }),
  );
}

function drawGroups() {
  const counts = new Map();
  for (const label of state.result?.labels ?? []) counts.set(label, (counts.get(label) ?? 0) + 1);
  const others = [...counts.keys()].filter((label) => !state.classes.includes(label));
  const labels = state.result ? [...state.classes, ...others] : [];
  const button = (group, text, count) => {
    const made = element("button", "", text);
    made.group = group;
    made.dataset.group = group ?? "";
    made.setAttribute("aria-pressed", String(group === state.group));
    made.append(element("span", "count", count.toLocaleString()));
    made.onclick = () => {
      Object.assign(state, { group, shown: PAGE });
      scrollTo(0, 0);
      draw();
    };
    return made;
  };
  $("groups").replaceChildren(
    button(EVERYTHING, "Everything", state.names.length),
    ...labels.map((label) => button(label, label, counts.get(label) ?? 0)),
  );
}

const more = new IntersectionObserver((entries) => {
  if (!entries.at(-1).isIntersecting) return;
  state.shown += PAGE;
  drawGrid();
}, { rootMargin: "600px" });

const tiles = new Map(); // image -> element, kept so that pictures need not be fetched again

function tile(image) {
  let made = tiles.get(image);
  if (!made) {
    made = element("button", "tile");
    made.dataset.image = image;
    made.draggable = true;
    const picture = element("img");
    picture.loading = "lazy";
    picture.draggable = false;
    picture.src = `/images/${image}?session=${state.session}`;
    picture.alt = made.title = state.names[image];
    const about = element("span", "about");
    about.append(element("span", "name"), element("span", "sure"));
    made.append(picture, about, element("span", "bar"));
    made.onclick = attempt(() => assign(image, state.chosen));
    made.ondragstart = (event) => event.dataTransfer.setData("text/pseudoshot-image", String(image));
    made.onkeydown = attempt(async (event) => {
      const name = state.classes[Number(event.key) - 1];
      const meant = !(event.ctrlKey || event.metaKey || event.altKey || event.repeat);
      if (name && meant) await assign(image, name);
    });
    tiles.set(image, made);
  }
  const given = state.examples.get(image), label = given ?? state.result?.labels[image] ?? "";
  const sure = state.result?.confidences[image] ?? 0;
  made.className = "tile" + (given ? " example" : "");
  made.style.setProperty("--colour", colour(label));
  made.querySelector(".name").textContent = label;
  made.querySelector(".sure").textContent = given ? "given" : label ? `${Math.round(100 * sure)} %` : "";
  made.querySelector(".bar").style.width = given || !label ? "0" : `${100 * sure}%`;
  return made;
}

function drawGrid() {
  const images = inOrder();
  $("grid").replaceChildren(...images.slice(0, state.shown).map(tile));
  const left = images.length - Math.min(images.length, state.shown);
  const unread = state.skipped ? ` ${state.skipped} files could not be read.` : "";
  more.unobserve($("end"));
  if (left) more.observe($("end")); // anew: it may be in sight already
  $("end").textContent = (left ? `${left.toLocaleString()} more below` : "") + unread;
}

// ---- beginnings

$("new-class").onsubmit = attempt((event) => {
  event.preventDefault();
  addClass($("class-name").value.trim());
  $("class-name").value = "";
});
$("reject").oninput = attempt(async () => {
  $("reject-value").textContent = `${$("reject").value} %`;
  await classify();
});
$("csv").onclick = attempt(() => requests.download("/csv", "labels.csv", state.examples, reject()));
$("classifier").onclick = attempt(() =>
  requests.download("/classifier", "classifier.safetensors", state.examples, reject()),
);
$("forget").onclick = attempt(async () => {
  if (!confirm("Forget all classes and examples?")) return;
  state.classes = [];
  state.examples.clear();
  state.chosen = null;
  remember();
  await classify();
});
$("files").onchange = attempt(async (event) => {
  await upload(event.target.files);
  event.target.value = "";
});
const drop = $("drop");
document.ondragover = (event) => {
  if (event.dataTransfer.types.includes("Files")) event.preventDefault();
};
document.ondrop = attempt(async (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  await upload(event.dataTransfer.files);
});
drop.ondragover = () => drop.classList.add("over");
drop.ondragleave = drop.ondrop = () => drop.classList.remove("over");
attempt(async () => {
  await load();
  recall();
  await classify();
})();
