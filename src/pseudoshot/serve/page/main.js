// One direction: the project and the result of sorting change, everything is drawn from them.

import "./classes.js";
import { $ } from "./elements.js";
import "./files.js";
import "./grid.js";
import "./groups.js";
import "./keys.js";
import { isLarge } from "./large_view.js";
import "./pointing.js";
import "./proposals.js";
import "./selection.js";
import { lookForever, showNewOrder, whileBusy } from "./server.js";
import "./status.js";
import "./take_away.js";

// A hand is in the grid: a mouse over it, a finger that just touched it, or keys.
const main = document.querySelector("main"), grid = $("grid");
let isMouseThere = false, isTouch = false;

function isBusy() {
  const focused = grid.contains(document.activeElement);
  return isLarge() || isMouseThere || (focused && (isTouch || document.activeElement.matches(":focus-visible")));
}

const mouse = (isThere) => (event) => {
  if (event.pointerType !== "touch") isMouseThere = isThere;
  if (!isBusy()) showNewOrder();
};
main.addEventListener("pointerenter", mouse(true));
main.addEventListener("pointerleave", mouse(false));
addEventListener("pointerdown", (event) => (isTouch = event.pointerType === "touch"));
main.addEventListener("focusout", (event) => {
  if (!main.contains(event.relatedTarget) && !isMouseThere && !isLarge()) showNewOrder();
});
whileBusy(isBusy);

if (location.search) history.replaceState(null, "", location.pathname); // a token is in a cookie by now
lookForever();
