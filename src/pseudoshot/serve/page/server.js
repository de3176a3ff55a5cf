// Between state and server: changes go there, and what comes back is drawn.

import { tell, tellOff } from "./messages.js";
import * as requests from "./requests.js";
import { adoptImages, adoptProject, adoptResult, arrange, draw, exampleOf, isEnough, offerOrder, state } from "./state.js";

const LOOK = 1_500; // milliseconds between two looks for what other tabs did
const RESORT = 5_000; // while images are being looked at

// ---- whatever a person does goes through here: what was refused is said in words

export const attempt = (action) => async (...given) => {
  tellOff("");
  try {
    return await action(...given);
  } catch (error) {
    if (error instanceof requests.Unreachable) return stopped();
    if (error instanceof requests.Refused && error.status === 409) await load().catch(() => {});
    if (!error.stale) tellOff(error.message);
  }
};

// ---- the list of images

let isLoaded = null; // called once there is a project to change
let last = new Promise((resolve) => (isLoaded = resolve));

async function loadLists() {
  const hasChanged = adoptImages(await requests.images());
  adoptProject(await requests.project());
  isLoaded();
  if (hasChanged) arrange(); // other images have come or gone: there is no order to keep
  else rearrange();
  draw();
}

export async function load() {
  await loadLists();
  await sortAnew();
}

// ---- changes, one after the other; sorting follows, and holds up no further change

function inTurn(ask) {
  last = last.catch(() => {}).then(ask).then(adopt);
  return last.then(sortAnew);
}

function adopt(project) {
  adoptProject(project);
  draw();
}

export const change = (...edits) => inTurn(() => requests.change(state.project.version, edits));
export const importProject = (file) => inTurn(() => requests.importProject(file));

async function step(what, ask, said) {
  let done = null; // known when it is this one's turn
  await inTurn(() => {
    done = state.project[what];
    return done === null ? state.project : ask();
  });
  if (done !== null) tell(`${said}: ${done}`);
}

export const undo = () => step("can_undo", requests.undo, "Undone");
export const redo = () => step("can_redo", requests.redo, "Done again");

// Into a class, or out of every class (null); those that are there already are left alone.
export function label(images, name) {
  const files = images.filter((image) => exampleOf(image) !== name).map((image) => state.names[image]);
  return files.length ? change({ kind: "label", files, class: name }) : null;
}

// The first click of a double-click has changed something that was not meant.
export function takeBack({ image, before, version }) {
  return inTurn(() => {
    const now = state.project.version;
    if (now === version) return state.project; // it changed nothing
    if (now === version + 1) return requests.undo();
    return requests.change(now, [{ kind: "label", files: [state.names[image]], class: before }]);
  });
}

// ---- sorting: one request at a time, and one more where something changed meanwhile

let sorting = null, isOutdated = false;

function sortAnew() {
  isOutdated = true;
  sorting ??= sortUntilTrue().finally(() => (sorting = null));
  return sorting;
}

async function sortUntilTrue() {
  while (isOutdated) {
    isOutdated = false;
    const result = isEnough() ? await sorted() : null;
    if (isOutdated) continue;
    adoptResult(result?.classes.length ? result : null);
    rearrange();
    draw();
  }
}

async function sorted() {
  try {
    return await requests.sort(state.session);
  } catch (error) {
    if (!error.stale) throw error;
    await loadLists();
    return requests.sort(state.session);
  }
}

// Images do not move under somebody's hand: a new order waits until the hand is gone.
let isBusy = () => false;
export const whileBusy = (test) => (isBusy = test);

function rearrange() {
  if (isBusy()) offerOrder();
  else arrange();
}

export function showNewOrder() {
  if (!state.hasNewOrder) return;
  arrange();
  draw();
}

// ---- other tabs, a server that stops and comes back, and how far it is

function stopped() {
  state.reachable = false;
  draw();
}

let lastSort = 0;

async function look() {
  try {
    if (!state.reachable || state.project.version < 0) await load();
    const project = await requests.projectSince(state.project.version);
    if (project) await adoptNewer(project);
    if (state.progress.stage !== "ready") await lookAtProgress();
    if (!state.reachable) tell("The server is back.");
    state.reachable = true;
    draw();
  } catch (error) {
    if (error instanceof requests.Unreachable) stopped();
    else if (error.stale) await load().catch(stopped);
    else tellOff(error.message);
  }
}

// An answer may come later than that to a change of one's own. Where it is older for good, the
// server is another one.
async function adoptNewer(project) {
  if (project.version <= state.project.version) return load();
  adopt(project);
  return sortAnew();
}

async function lookAtProgress() {
  const before = state.progress.stage;
  const progress = await requests.progress(state.session);
  if (progress.stage !== before || progress.images > state.names.length) return load();
  state.progress = progress;
  if (Date.now() - lastSort < RESORT) return;
  lastSort = Date.now();
  await sortAnew();
}

export async function lookForever() {
  for (;;) {
    if (!document.hidden) await look();
    await new Promise((resolve) => setTimeout(resolve, LOOK));
  }
}
