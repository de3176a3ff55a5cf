// What keys do. In text fields they are the field's.

import { $, isTyping } from "./elements.js";
import { columnsShown, focusOn, positionOf, rowsInSight } from "./grid.js";
import { openLargeView } from "./large_view.js";
import { assign } from "./pointing.js";
import { labelMeant, meant, selectAll, selectNothing, selectThrough, toggle } from "./selection.js";
import { attempt, redo, showNewOrder, undo } from "./server.js";
import { classOfKey, state } from "./state.js";

const isOpen = () => document.querySelector("dialog[open]") !== null;

// How far an arrow goes, from where the focus is.
function target(key, position) {
  const columns = columnsShown(), page = columns * rowsInSight(), end = state.order.length - 1;
  const moved = {
    ArrowLeft: position - 1,
    ArrowRight: position + 1,
    ArrowUp: position - columns,
    ArrowDown: position + columns,
    PageUp: Math.max(position - page, position % columns),
    PageDown: Math.min(position + page, end),
    Home: 0,
    End: end,
  }[key];
  return moved === undefined ? null : moved < 0 || moved > end ? position : moved;
}

// With Ctrl, or Cmd on a Mac.
function command(event) {
  const key = event.key.toLowerCase();
  const isFilled = isTyping(event.target) && event.target.value; // then it is the field's to undo
  if (key === "z" && !event.shiftKey && !isFilled) return undo;
  if ((key === "y" || (key === "z" && event.shiftKey)) && !isFilled) return redo;
  if (key === "a" && event.target.closest("#grid")) return selectAll;
  return null;
}

function inGrid(event) {
  const position = positionOf(state.focus), moved = target(event.key, position);
  if (moved !== null) {
    return () => {
      if (event.shiftKey) selectThrough(moved);
      focusOn(moved);
    };
  }
  if (event.key === " ") return () => openLargeView(state.focus);
  if (event.key === "Enter") return () => assign(meant());
  if (event.key === "x") return () => toggle(state.focus);
  return null;
}

function anywhere(event) {
  const one = classOfKey(event.key);
  const isMeant = event.target.closest("#grid") || state.selected.size;
  if (one && isMeant && !event.repeat) return () => labelMeant(one.name);
  if (["Delete", "Backspace", "0"].includes(event.key) && isMeant) return () => labelMeant(null);
  if (event.key === "Escape" && state.selected.size) return selectNothing;
  if (event.key === "/") return () => $("search").focus();
  if (event.key === "?") return () => $("keys-dialog").showModal();
  if (event.key === "s" && state.hasNewOrder) return showAndFocus;
  return null;
}

export function showAndFocus() {
  showNewOrder();
  focusOn(0);
}

document.addEventListener("keydown", (event) => {
  const isCommand = event.ctrlKey || event.metaKey;
  let action = null;
  if (isCommand && !event.altKey) action = command(event);
  else if (!event.altKey && !isOpen() && !isTyping(event.target)) {
    action = (event.target.closest("#grid") && inGrid(event)) || anywhere(event);
  }
  if (!action) return;
  event.preventDefault();
  attempt(async () => action())();
});

$("show-keys").onclick = () => $("keys-dialog").showModal();
$("keys-close").onclick = () => $("keys-dialog").close();
