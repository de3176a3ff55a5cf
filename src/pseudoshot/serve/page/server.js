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

export async function load() {
  adoptImages(await requests.images());
  adoptProject(await requests.project());
  if (!state.result) arrange();
  draw();
  await sortAnew();
}

// ---- changes, one after the other

let last = Promise.resolve();
function inTurn(action) {
  last = last.catch(() => {}).then(action);
  return last;
}

async function adopt(asked) {
  adoptProject(await asked);
  draw();
  await sortAnew();
}

export const change = (...edits) => inTurn(() => adopt(requests.change(state.project.version, edits)));
export const importProject = (file) => inTurn(() => adopt(requests.importProject(file)));

export function undo() {
  const what = state.project.can_undo;
  return what === null ? null : inTurn(() => adopt(requests.undo()).then(() => tell(`Undone: ${what}`)));
}

export function redo() {
  const what = state.project.can_redo;
  return what === null ? null : inTurn(() => adopt(requests.redo()).then(() => tell(`Done again: ${what}`)));
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
    if (state.project.version === version) return null; // it changed nothing
    if (state.project.version === version + 1) return adopt(requests.undo());
    return adopt(requests.change(state.project.version, [{ kind: "label", files: [state.names[image]], class: before }]));
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
    adoptImages(await requests.images());
    adoptProject(await requests.project());
    arrange();
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
    if (project && project.version !== state.project.version) await adopt(project);
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
