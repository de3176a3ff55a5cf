// One direction: examples change, the server labels every image, everything is drawn again.
"use strict";

const COLOURS = ["#1f77b4", "#d1495b", "#2e8b57", "#8e5ea2", "#c77800", "#00798c", "#a0522d", "#5c6bc0", "#6b8e23", "#b0307f"];
const DOUBTFUL = "all", PAGE = 120, FILES_A_REQUEST = 50;

const state = {
  names: [],
  order: [], // images before anything is known: those to label first, then the others
  classes: [], // names, in the order they were given
  examples: new Map(), // image -> class name
  result: null, // the server's labels
  chosen: null, // the class that a click puts an image in
  group: DOUBTFUL, // what the grid shows: everything, or one label
  shown: PAGE,
  storage: null, // where the browser remembers this folder's examples
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

async function ask(path, options) {
  const answer = await fetch(path, options);
  if (answer.ok) return answer;
  const { detail } = await answer.json().catch(() => ({ detail: answer.statusText }));
  throw new Error(detail);
}

function known() {
  const reject = Number($("reject").value) / 100;
  const examples = [...state.examples].map(([image, label]) => ({ image, label }));
  return {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ examples, reject: reject || null }),
  };
}

let latest = 0;
async function classify() {
  const mine = ++latest;
  if (state.examples.size === 0) {
    state.result = null;
  } else {
    const result = await (await ask("/classify", known())).json();
    if (mine !== latest) return; // examples have changed meanwhile
    state.result = result;
  }
  draw();
}

async function download(path, name) {
  const blob = await (await ask(path, known())).blob();
  const link = element("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

async function upload(files) {
  const images = [...files];
  for (let start = 0; start < images.length; start += FILES_A_REQUEST) {
    $("status").textContent = `adding ${images.length} images …`;
    const body = new FormData();
    for (const file of images.slice(start, start + FILES_A_REQUEST)) body.append("files", file);
    await ask("/images", { method: "POST", body });
  }
  await load();
  await classify();
}

async function load() {
  const about = await (await ask("/images")).json();
  const first = new Set(about.suggested);
  state.names = about.names;
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
  if (name && !state.classes.includes(name)) state.classes.push(name);
  state.chosen = name || state.chosen;
  remember();
  draw();
}

async function removeClass(name) {
  state.classes = state.classes.filter((other) => other !== name);
  for (const [image, label] of state.examples) if (label === name) state.examples.delete(image);
  if (state.chosen === name) state.chosen = state.classes.at(-1) ?? null;
  if (state.group === name) state.group = DOUBTFUL;
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
  if (state.storage) localStorage.setItem(state.storage, JSON.stringify(kept));
}

function recall() {
  state.storage = `pseudoshot:${state.names.length}:${state.names[0] ?? ""}:${state.names.at(-1) ?? ""}`;
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
  const some = group === DOUBTFUL ? images : images.filter((image) => result.labels[image] === group);
  const rank = (image) => (state.examples.has(image) ? 2 : result.confidences[image]);
  return some.sort((a, b) => rank(a) - rank(b)); // examples, of which nobody doubts, come last
}

function draw() {
  drawClasses();
  drawGroups();
  drawGrid();
  const ready = state.examples.size > 0;
  for (const id of ["csv", "classifier"]) $(id).disabled = !ready;
  $("forget").disabled = state.classes.length === 0;
  $("hint").textContent = hint();
  const labelled = state.examples.size === 1 ? "1 example" : `${state.examples.size} examples`;
  $("status").textContent = !state.names.length
    ? "No images yet."
    : state.result
      ? `${state.names.length.toLocaleString()} images sorted from ${labelled}, the most doubtful first`
      : `${state.names.length.toLocaleString()} images; those that tell most come first`;
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
      pick.onclick = () => addClass(name);
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
    made.dataset.group = group;
    made.setAttribute("aria-pressed", String(group === state.group));
    made.append(element("span", "count", count.toLocaleString()));
    made.onclick = () => {
      Object.assign(state, { group, shown: PAGE });
      draw();
    };
    return made;
  };
  $("groups").replaceChildren(
    button(DOUBTFUL, "Everything", state.names.length),
    ...labels.map((label) => button(label, label, counts.get(label) ?? 0)),
  );
}

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
    picture.src = `/images/${image}`;
    picture.alt = made.title = state.names[image];
    const about = element("span", "about");
    about.append(element("span", "name"), element("span", "sure"));
    made.append(picture, about, element("span", "bar"));
    made.onclick = attempt(() => assign(image, state.chosen));
    made.ondragstart = (event) => event.dataTransfer.setData("text/pseudoshot-image", String(image));
    made.onkeydown = attempt(async (event) => {
      const name = state.classes[Number(event.key) - 1];
      if (name) await assign(image, name);
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
  const focused = document.querySelector("#grid :focus-visible"); // of someone who uses keys
  $("grid").replaceChildren(...images.slice(0, state.shown).map(tile));
  if (focused?.isConnected) focused.focus();
  const left = images.length - Math.min(images.length, state.shown);
  const unread = state.skipped ? ` ${state.skipped} files could not be read.` : "";
  $("end").textContent = (left ? `${left.toLocaleString()} more below` : "") + unread;
}

// ---- beginnings

$("new-class").onsubmit = (event) => {
  event.preventDefault();
  addClass($("class-name").value.trim());
  $("class-name").value = "";
};
$("reject").oninput = attempt(async () => {
  $("reject-value").textContent = `${$("reject").value} %`;
  await classify();
});
$("csv").onclick = attempt(() => download("/csv", "labels.csv"));
$("classifier").onclick = attempt(() => download("/classifier", "classifier.safetensors"));
$("forget").onclick = attempt(async () => {
  if (!confirm("Forget all classes and examples?")) return;
  state.classes = [];
  state.examples.clear();
  Object.assign(state, { chosen: null, group: DOUBTFUL });
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
new IntersectionObserver((entries) => {
  if (entries[0].isIntersecting && state.shown < state.names.length) {
    state.shown += PAGE;
    drawGrid();
  }
}, { rootMargin: "600px" }).observe($("end"));

attempt(async () => {
  await load();
  recall();
  await classify();
})();
