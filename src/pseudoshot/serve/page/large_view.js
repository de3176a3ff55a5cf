// One image, as large as the window: arrow keys go on, number keys put it into a class.

import { $, children, describe, element, style, write } from "./elements.js";
import { focusOn, positionOf } from "./grid.js";
import { picture } from "./requests.js";
import { attempt, label } from "./server.js";
import { NUMBER_KEYS, classOfKey, draw, exampleOf, labelOf, state, whenDrawn } from "./state.js";

const dialog = $("large");

export const isLarge = () => dialog.open;

export function openLargeView(image) {
  state.focus = image;
  if (!dialog.open) dialog.showModal();
  drawLarge();
  draw();
}

function move(by) {
  const position = positionOf(state.focus) + by;
  if (position < 0 || position >= state.order.length) return;
  state.focus = state.order[position];
  drawLarge();
}

function drawLarge() {
  if (!dialog.open) return;
  const image = state.focus, { name, isGiven, sure, runnerUp } = labelOf(image), position = positionOf(image);
  const source = picture(image, state.session);
  if ($("large-picture").getAttribute("src") !== source) {
    $("large-picture").removeAttribute("src");
    $("large-picture").src = source;
    for (const near of [position + 1, position - 1]) {
      if (state.order[near] !== undefined) new Image().src = picture(state.order[near], state.session);
    }
  }
  const certain = `${name}, ${Math.round(100 * sure)} % certain` + (runnerUp ? `; else ${runnerUp}` : "");
  write($("large-picture"), { alt: state.names[image] ?? "" });
  write($("large-name"), { textContent: state.names[image] ?? "" });
  write($("large-label"), { textContent: !name ? "no class yet" : isGiven ? `your example of ${name}` : certain });
  write($("large-place"), {
    textContent: `${(position + 1).toLocaleString("en")} of ${state.order.length.toLocaleString("en")}`,
  });
  write($("large-before"), { disabled: position <= 0 });
  write($("large-after"), { disabled: position >= state.order.length - 1 });
  children(
    $("large-classes"),
    state.project.classes,
    (one) => one.name,
    (one) => {
      const button = element("button", "put");
      button.append(element("kbd"), element("span", "name", one.name));
      button.onclick = attempt(() => assignLarge(one.name));
      return button;
    },
    (button, one, index) => {
      write(button.firstChild, { textContent: String(index + 1), hidden: index >= NUMBER_KEYS });
      describe(button, { "aria-pressed": exampleOf(image) === one.name });
      style(button, "--colour", one.colour);
    },
  );
}

export const assignLarge = (name) => label([state.focus], exampleOf(state.focus) === name ? null : name);

const MOVES = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

dialog.onkeydown = attempt(async (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const one = classOfKey(event.key), isButton = event.target.matches("button");
  if (MOVES[event.key]) {
    event.preventDefault();
    move(MOVES[event.key]);
  } else if (event.key === " " && !isButton) {
    event.preventDefault();
    dialog.close();
  } else if (one && !event.repeat) await assignLarge(one.name);
  else if (["Delete", "Backspace", "0"].includes(event.key)) await label([state.focus], null);
});
dialog.onclose = () => focusOn(positionOf(state.focus));
dialog.onclick = (event) => event.target === dialog && dialog.close();
$("large-before").onclick = () => move(-1);
$("large-after").onclick = () => move(1);
$("large-close").onclick = () => dialog.close();
whenDrawn(drawLarge);
