// What the mouse or a finger does in the grid: put an image into the chosen class, select, drag.

import { $, style } from "./elements.js";
import { positionOf, positionsWithin } from "./grid.js";
import { openLargeView } from "./large_view.js";
import { selectOnly, selectThrough, toggle } from "./selection.js";
import { attempt, label, takeBack } from "./server.js";
import { draw, exampleOf, state } from "./state.js";

const scroller = $("scroller"), grid = $("grid"), band = $("band");
const EDGE = 40, STEP = 18; // pixels from the edge at which a band scrolls, and how far

const imageAt = (event) => {
  const tile = event.target.closest(".tile");
  return tile ? Number(tile.dataset.image) : -1;
};

// ---- clicks

let firstClick = null; // of two: what it changed is taken back when the second one follows

export async function assign(images) {
  if (state.chosen === null) return $("class-name").focus();
  const isOut = images.every((image) => exampleOf(image) === state.chosen);
  await label(images, isOut ? null : state.chosen);
}

grid.onclick = attempt(async (event) => {
  const image = imageAt(event);
  if (image < 0) return;
  if (event.detail > 1) return; // ondblclick's
  state.focus = image;
  if (event.shiftKey) return selectThrough(positionOf(image));
  if (event.ctrlKey || event.metaKey) return toggle(image);
  firstClick = { image, before: exampleOf(image), version: state.project.version };
  if (!state.selected.size) return assign([image]);
  const images = [...state.selected];
  selectOnly([]);
  if (images.includes(image)) await assign(images);
});

grid.ondblclick = attempt(async (event) => {
  const image = imageAt(event);
  if (image < 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  openLargeView(image);
  if (firstClick?.image === image) await takeBack(firstClick);
  firstClick = null;
});

grid.addEventListener("focusin", (event) => {
  const image = imageAt(event);
  if (image < 0 || image === state.focus) return;
  state.focus = image;
  draw();
});

// ---- dragging images onto a class

let images = [];
export const dragged = () => images;

grid.ondragstart = (event) => {
  const image = imageAt(event);
  images = state.selected.has(image) ? [...state.selected] : [image];
  event.dataTransfer.setData("text/plain", images.map((one) => state.names[one]).join("\n"));
  event.dataTransfer.effectAllowed = "copy";
};
grid.ondragend = () => (images = []);

// ---- a rubber band, drawn from between two images, or anywhere with Shift

let start = null, kept = new Set(), pointer = null;

const within = (event) => {
  const box = grid.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
};

scroller.onpointerdown = (event) => {
  const isOnTile = imageAt(event) >= 0, isInGrid = event.target.closest("#grid, #scroller") && !event.target.closest("#end");
  if (event.pointerType === "touch" || event.button !== 0 || !isInGrid || (isOnTile && !event.shiftKey)) return;
  if (event.offsetX >= scroller.clientWidth && event.target === scroller) return; // the scroll bar
  if (isOnTile) event.target.closest(".tile").draggable = false;
  start = { ...within(event), isOnTile };
  kept = new Set(event.ctrlKey || event.metaKey || event.shiftKey ? state.selected : []);
  if (!isOnTile) selectOnly([...kept]);
};

addEventListener("pointermove", (event) => {
  if (!start) return;
  pointer = event;
  const { x, y } = within(event);
  if (band.hidden && Math.hypot(x - start.x, y - start.y) < 5) return;
  event.preventDefault();
  if (band.hidden) requestAnimationFrame(scrollAtEdge);
  drawBand();
});

function drawBand() {
  const { x, y } = within(pointer);
  const left = Math.min(x, start.x), top = Math.min(y, start.y);
  const right = Math.max(x, start.x), bottom = Math.max(y, start.y);
  band.hidden = false;
  style(band, "translate", `${left + grid.offsetLeft}px ${top + grid.offsetTop}px`);
  style(band, "width", `${right - left}px`);
  style(band, "height", `${bottom - top}px`);
  const found = positionsWithin({ left, top, right, bottom }).map((position) => state.order[position]);
  selectOnly([...kept, ...found]);
}

function scrollAtEdge() {
  if (!start) return;
  const box = scroller.getBoundingClientRect();
  const past = pointer.clientY < box.top + EDGE ? -STEP : pointer.clientY > box.bottom - EDGE ? STEP : 0;
  if (past) {
    scroller.scrollTop += past;
    drawBand();
  }
  requestAnimationFrame(scrollAtEdge);
}

addEventListener("pointerup", () => {
  if (start && !band.hidden && start.isOnTile) addEventListener("click", stop, { capture: true, once: true });
  for (const tile of grid.querySelectorAll(".tile[draggable=false]")) tile.draggable = true;
  start = null;
  band.hidden = true;
});

const stop = (event) => event.stopPropagation(); // the end of a band is no click
