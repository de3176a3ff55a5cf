// One image, as large as the window: arrow keys go on, number keys put it into a class.

import { $, children, describe, element, style, write } from "./elements.js";
import { focusOn, positionOf } from "./grid.js";
import { picture } from "./requests.js";
import { attempt, label } from "./server.js";
import { NUMBER_KEYS, classOfKey, exampleOf, labelOf, state, whenDrawn } from "./state.js";

const dialog = $("large");
let image = -1; // state.focus is another: a closing dialog gives the focus back to where it was

export const isLarge = () => dialog.open;

export function openLargeView(opened) {
  image = opened;
  if (!dialog.open) dialog.showModal();
  drawLarge();
}

function move(by) {
  const position = positionOf(image) + by;
  if (position < 0 || position >= state.order.length) return;
  image = state.order[position];
  drawLarge();
}

function drawLarge() {
  if (!dialog.open) return;
  const { name, isGiven, sure, runnerUp } = labelOf(image), position = positionOf(image);
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
      button.onclick = attempt(() => assign(one.name));
      return button;
    },
    (button, one, index) => {
      write(button.firstChild, { textContent: String(index + 1), hidden: index >= NUMBER_KEYS });
      describe(button, { "aria-pressed": exampleOf(image) === one.name });
      style(button, "--colour", one.colour);
    },
  );
}

const assign = (name) => label([image], exampleOf(image) === name ? null : name);

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
  } else if (one && !event.repeat) await assign(one.name);
  else if (["Delete", "Backspace", "0"].includes(event.key)) await label([image], null);
});
dialog.onclose = () => focusOn(positionOf(image));
dialog.onclick = (event) => event.target === dialog && dialog.close();
$("large-before").onclick = () => move(-1);
$("large-after").onclick = () => move(1);
$("large-close").onclick = () => dialog.close();
whenDrawn(drawLarge);
