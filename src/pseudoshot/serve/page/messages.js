// What the page says beside what it shows: errors, what was done, and how to undo it.

import { $, element } from "./elements.js";

const SECONDS = 6;
let timer = 0;

// An error, until the next thing is done; "" takes it away.
export function tellOff(text) {
  $("message").hidden = !text;
  $("message-text").textContent = text;
}

// What was done, for a few seconds, with a way back where there is one.
export function tell(text, undo) {
  clearTimeout(timer);
  const parts = [element("span", "", text)];
  if (undo) {
    const button = element("button", "", "Undo");
    button.onclick = () => {
      hide();
      undo();
    };
    parts.push(button);
  }
  $("toast").replaceChildren(...parts);
  $("toast").classList.add("shown");
  timer = setTimeout(hide, 1000 * SECONDS);
}

function hide() {
  $("toast").classList.remove("shown");
  $("toast").replaceChildren();
}

$("message-close").onclick = () => tellOff("");
