// Several images at once: which are selected, and what can be done with them.

import { $, children, count, element, style, write } from "./elements.js";
import { positionOf } from "./grid.js";
import * as requests from "./requests.js";
import { attempt, label, load } from "./server.js";
import { draw, exampleOf, state, whenDrawn } from "./state.js";

let anchor = -1; // the image from which a range reaches

export function selectOnly(images) {
  state.selected = new Set(images);
  draw();
}

export function toggle(image) {
  anchor = image;
  if (!state.selected.delete(image)) state.selected.add(image);
  draw();
}

export function selectThrough(position) {
  const from = Math.max(0, positionOf(anchor < 0 ? state.focus : anchor));
  if (anchor < 0) anchor = state.order[from];
  selectOnly(state.order.subarray(Math.min(from, position), Math.max(from, position) + 1));
}

export const selectAll = () => selectOnly(state.order);

export function selectNothing() {
  anchor = -1;
  selectOnly([]);
}

// What keys act on: the selection, or else the image with the focus.
export const meant = () => (state.selected.size ? [...state.selected] : state.focus < 0 ? [] : [state.focus]);

export async function labelMeant(name) {
  const images = meant();
  const isIn = images.every((image) => exampleOf(image) === name);
  selectNothing();
  await label(images, isIn ? null : name);
}

async function removeAdded() {
  const images = [...state.selected].filter((image) => state.added.has(image));
  selectNothing();
  for (const image of images) await requests.remove(image, state.session);
  await load();
}

function drawSelection() {
  const number = state.selected.size;
  write($("selection"), { hidden: number === 0 });
  if (!number) return;
  write($("selected"), { textContent: `${count(number, "image")} selected` });
  children(
    $("put-into"),
    state.project.classes,
    ({ name }) => name,
    ({ name }) => {
      const button = element("button", "put", name);
      button.onclick = attempt(() => labelMeant(name));
      return button;
    },
    (button, { colour }) => style(button, "--colour", colour),
  );
  const added = [...state.selected].filter((image) => state.added.has(image)).length;
  write($("remove-added"), { hidden: !added, textContent: `Remove ${count(added, "added image")}` });
}

$("take-out").onclick = attempt(async () => {
  const images = meant();
  selectNothing();
  await label(images, null);
});
$("remove-added").onclick = attempt(removeAdded);
$("deselect").onclick = selectNothing;
whenDrawn(drawSelection);
