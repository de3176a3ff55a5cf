// Between state and server: changes go there, and what comes back is drawn.

import { tell, tellOff } from "./messages.js";
import * as requests from "./requests.js";
import { adoptImages, adoptProject, adoptResult, arrange, draw, isEnough, state } from "./state.js";

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
  if (hasChanged) arrange();
  else offerOrder();
  draw();
  return hasChanged;
}

export async function load() {
  const hasChanged = await loadLists();
  await sortAnew();
  if (!hasChanged) return;
  arrange(); // other images have come or gone: there is no order to keep
  draw();
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

export async function undo() {
  const what = state.project.can_undo;
  if (what === null) return;
  await inTurn(requests.undo);
  tell(`Undone: ${what}`);
}

export async function redo() {
  const what = state.project.can_redo;
  if (what === null) return;
  await inTurn(requests.redo);
  tell(`Done again: ${what}`);
}

// Into a class, or out of every class (null). What it was before tells whether anything changes.
export function label(images, name) {
  const files = images.map((image) => state.names[image]);
  const changed = files.filter((file) => (state.project.examples[file] ?? null) !== name);
  return changed.length ? change({ kind: "label", files: changed, class: name }) : null;
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

export function sortAnew() {
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
    offerOrder();
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

function offerOrder() {
  if (isBusy()) state.hasNewOrder = true;
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
