// A grid of any number of images, of which only those in sight exist, and a few above and below.

import { $, style, write } from "./elements.js";
import { state, whenDrawn } from "./state.js";
import { Tile } from "./tile.js";

const MARGIN = 400; // pixels above and below what is in sight
const REST = 90; // milliseconds without scrolling before pictures are fetched
const LABEL = 28; // height of what is written under a picture
const LEAST_COLUMNS = 2;

const scroller = $("scroller"), grid = $("grid");
const tiles = new Map(); // image -> tile in the page
const spare = []; // tiles that were scrolled away
let shape = { columns: 1, width: 0, height: 1, gap: 12 };
let resting = 0, isScrolling = false;

// ---- geometry

function measure() {
  const width = grid.clientWidth, gap = width < 600 ? 8 : 12;
  const columns = Math.max(LEAST_COLUMNS, Math.floor((width + gap) / (state.side + gap)));
  const tileWidth = Math.floor((width - gap * (columns - 1)) / columns);
  shape = { columns, width: tileWidth, height: tileWidth + LABEL, gap };
  style(grid, "--tile-width", `${tileWidth}px`);
  style(grid, "--tile-height", `${shape.height}px`);
  style(grid, "height", `${rows() * (shape.height + gap)}px`);
}

const rows = () => Math.ceil(state.order.length / shape.columns);
const topOf = (position) => Math.floor(position / shape.columns) * (shape.height + shape.gap);
const leftOf = (position) => (position % shape.columns) * (shape.width + shape.gap);

export const columnsShown = () => shape.columns;
export const rowsInSight = () => Math.max(1, Math.floor(scroller.clientHeight / (shape.height + shape.gap)));
export const positionOf = (image) => state.order.indexOf(image);

// The positions whose tiles meet a rectangle of the grid.
export function positionsWithin({ left, top, right, bottom }) {
  const found = [], pitch = shape.height + shape.gap, step = shape.width + shape.gap;
  const firstRow = Math.max(0, Math.floor((top + shape.gap) / pitch));
  const lastRow = Math.min(rows() - 1, Math.floor(bottom / pitch));
  const firstColumn = Math.max(0, Math.floor((left + shape.gap) / step));
  const lastColumn = Math.min(shape.columns - 1, Math.floor(right / step));
  for (let row = firstRow; row <= lastRow; row++) {
    for (let column = firstColumn; column <= lastColumn; column++) {
      const position = row * shape.columns + column;
      if (position < state.order.length) found.push(position);
    }
  }
  return found;
}

// ---- drawing

function positionsInSight() {
  const pitch = shape.height + shape.gap, top = scroller.scrollTop - grid.offsetTop;
  const first = Math.max(0, Math.floor((top - MARGIN) / pitch) * shape.columns);
  const end = Math.ceil((top + scroller.clientHeight + MARGIN) / pitch) * shape.columns;
  const positions = [];
  for (let position = first; position < Math.min(end, state.order.length); position++) positions.push(position);
  return withFocused(positions);
}

// The tile with the focus stays in the page wherever one scrolls, else the focus would be lost.
function withFocused(positions) {
  if (!grid.contains(document.activeElement)) return positions;
  const focused = positionOf(state.focus);
  if (focused < 0 || positions.includes(focused)) return positions;
  return focused < positions[0] ? [focused, ...positions] : [...positions, focused];
}

function drawTiles(isMoved = false) {
  if (!state.order.length) state.focus = -1;
  else if (state.focus < 0 || positionOf(state.focus) < 0) state.focus = state.order[0];
  const hadFocus = grid.contains(document.activeElement);
  const positions = positionsInSight();
  putAway(new Set(positions.map((position) => state.order[position])));
  let next = grid.firstElementChild;
  for (const position of positions) {
    const image = state.order[position], isKnown = tiles.has(image), tile = tileOf(image);
    if (!isMoved || !isKnown) tile.draw(position, leftOf(position), topOf(position));
    if (tile.element === next) next = next.nextElementSibling;
    else grid.insertBefore(tile.element, next);
  }
  if (!isScrolling) loadPictures();
  if (hadFocus && !grid.contains(document.activeElement)) tiles.get(state.focus)?.element.focus({ preventScroll: true });
}

function putAway(wanted) {
  for (const [image, tile] of tiles) {
    if (wanted.has(image)) continue;
    tiles.delete(image);
    tile.element.remove();
    spare.push(tile);
  }
}

function tileOf(image) {
  let tile = tiles.get(image);
  if (!tile) {
    tile = spare.pop() ?? new Tile();
    tile.give(image);
    tiles.set(image, tile);
  }
  return tile;
}

function loadPictures() {
  for (const tile of tiles.values()) tile.loadPicture();
}

// ---- moving

export function focusOn(position) {
  const image = state.order[position];
  if (image === undefined) return;
  state.focus = image;
  reveal(position);
  drawTiles();
  tiles.get(image)?.element.focus({ preventScroll: true });
}

function reveal(position) {
  const top = topOf(position) + grid.offsetTop, bottom = top + shape.height;
  if (top < scroller.scrollTop) scroller.scrollTop = top - shape.gap;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = bottom - scroller.clientHeight + shape.gap;
  }
}

export const toTop = () => (scroller.scrollTop = 0);

function scrolled() {
  isScrolling = true;
  clearTimeout(resting);
  resting = setTimeout(() => {
    isScrolling = false;
    loadPictures();
  }, REST);
  requestAnimationFrame(() => drawTiles(true)); // tiles that stay in sight stay as they are
}

function drawGrid() {
  measure();
  drawTiles();
  write($("nothing"), { hidden: state.order.length > 0 || !state.names.length });
}

scroller.addEventListener("scroll", scrolled, { passive: true });
new ResizeObserver(drawGrid).observe(scroller);
whenDrawn(drawGrid);
