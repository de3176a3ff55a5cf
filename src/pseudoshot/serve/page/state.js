// All that is known, and what follows from it. Whoever changes it asks for a drawing; nobody
// reads anything back from the page.

import { NO_EXAMPLE, NONE_OF_THESE, NOT_YET, countsOf, imagesInOrder, ranksOfNames } from "./order.js";

export const NONE = "none of these";
export const NUMBER_KEYS = 9; // the first classes have one each

export const state = {
  session: "", // of the server, which numbers images anew at every start
  folder: null,
  machine: "",
  model: "",
  names: [], // of image i, or null where one was removed
  added: new Set(), // images that came by the page, and may go again
  skipped: [],
  suggested: [],
  progress: { stage: "listing", done: 0, total: 0, seconds_left: null },
  project: { version: -1, classes: [], examples: {}, settings: {}, can_undo: null, can_redo: null, missing: 0 },
  given: new Uint16Array(0), // image -> place of the class it is an example of, or NO_EXAMPLE
  result: null, // of the last sort, or null where examples do not suffice
  counts: countsOf({ names: [] }), // of each view
  chosen: null, // the class that a click puts an image in
  coming: null, // a class that was named just now, and that the server has not said yet
  view: { kind: "everything", name: null, sort: "doubtful", search: "" },
  order: new Uint32Array(0), // what the grid shows
  hasNewOrder: false, // and the grid still shows the one before, under somebody's pointer
  selected: new Set(), // images
  focus: -1, // the image that keys act on
  side: 140, // of a thumbnail, in pixels
  adding: null, // how far images are that are being added, in words
  reachable: true, // the server answers
};

let place = new Map(), nameRanks = null;

export const colourOf = (name) => state.project.classes.find((one) => one.name === name)?.colour;

// ---- what came from the server

// Whether there are other images than before.
export function adoptImages(about) {
  const before = state.names;
  if (about.session !== state.session) {
    state.selected.clear();
    state.result = null; // its numbers are of other images
  }
  const { session, folder, machine, model, names, skipped, suggested, progress } = about;
  Object.assign(state, { session, folder, machine, model, names, skipped, suggested, progress });
  state.added = new Set(about.added);
  place = new Map(names.map((name, image) => [name, image]));
  nameRanks = null;
  placeExamples();
  return names.length !== before.length || names.some((name, image) => name !== before[image]);
}

export function adoptProject(project) {
  state.project = project;
  const names = [...project.classes.map(({ name }) => name), ...(state.coming === null ? [] : [state.coming])];
  const isThere = names.includes(state.chosen);
  if (!isThere) state.chosen = project.classes.at(-1)?.name ?? null;
  placeExamples();
}

function placeExamples() {
  const { classes, examples } = state.project;
  const index = new Map(classes.map(({ name }, position) => [name, position]));
  state.given = new Uint16Array(state.names.length).fill(NO_EXAMPLE);
  for (const [file, name] of Object.entries(examples)) {
    const image = place.get(file);
    if (image !== undefined) state.given[image] = index.get(name);
  }
  recount();
}

export function adoptResult(result) {
  state.result = result;
  recount();
}

function recount() {
  state.counts = countsOf(state);
  const { kind, name } = state.view, isOfResult = !["everything", "examples"].includes(kind);
  const isGone = kind === "class" && !state.project.classes.some((one) => one.name === name);
  const isEmpty = ["none", "waiting"].includes(kind) && !state.counts[kind];
  if (isGone || isEmpty || (isOfResult && !state.result)) {
    Object.assign(state.view, { kind: "everything", name: null });
    arrange();
  }
}

// ---- what follows

function orderNow() {
  if (state.view.sort === "name") nameRanks ??= ranksOfNames(state.names);
  return imagesInOrder({ ...state, nameRanks });
}

export function arrange() {
  state.order = orderNow();
  state.hasNewOrder = false;
}

// The grid stays as it is, and says so where it would look otherwise.
export function offerOrder() {
  const order = orderNow(), { order: shown } = state;
  state.hasNewOrder = order.length !== shown.length || order.some((image, position) => image !== shown[position]);
}

export const isEnough = () => state.project.classes.filter((_, place) => state.counts.examplesOf[place]).length >= 2;
export const exampleOf = (image) => state.project.classes[state.given[image]]?.name ?? null;

// What is said of an image: {name, isGiven, sure, runnerUp}; `name` is "" where nothing is known.
export function labelOf(image) {
  const given = exampleOf(image), { result } = state;
  if (given !== null) return { name: given, isGiven: true, sure: 1, runnerUp: "" };
  const label = result?.labels[image] ?? NOT_YET;
  if (label === NOT_YET) return { name: "", isGiven: false, sure: 0, runnerUp: "" };
  return {
    name: label === NONE_OF_THESE ? NONE : result.classes[label],
    isGiven: false,
    sure: result.confidences[image] / 10_000,
    runnerUp: result.classes[result.runners_up[image]] ?? "",
  };
}

export const classOfKey = (key) => (/^[1-9]$/.test(key) ? state.project.classes[Number(key) - 1] : undefined);

export function choose(name) {
  state.chosen = name;
  draw();
}

export function checkName(name) {
  if (name === NONE) throw new Error(`“${NONE}” is for images of no class: name a class otherwise`);
}

// ---- drawing

const drawings = [];
let isAsked = false;

export const whenDrawn = (drawing) => drawings.push(drawing);

export function draw() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    for (const drawing of drawings) drawing();
  });
}
