// The classes a person has named: choose one, give it a name, drop images on it.

import { openClassDialog } from "./class_dialog.js";
import { nextColour } from "./colours.js";
import { $, children, count, describe, element, style, write } from "./elements.js";
import { dragged } from "./pointing.js";
import { attempt, change, label } from "./server.js";
import { NUMBER_KEYS, checkName, choose, state, whenDrawn } from "./state.js";

async function addClass(name) {
  checkName(name);
  if (!name) return;
  const before = state.chosen, isNew = !state.project.classes.some((one) => one.name === name);
  choose(name); // at once: the next click is meant for it
  if (!isNew) return;
  state.coming = name; // what the server says of earlier changes does not know it
  try {
    await change({ kind: "add_class", name, colour: nextColour(state.project.classes) });
  } catch (error) {
    choose(before);
    throw error;
  } finally {
    if (state.coming === name) state.coming = null;
  }
}

function make({ name }) {
  const item = element("li", "class"), pick = element("button", "pick"), more = element("button", "more", "⋯");
  const text = element("span", "text");
  text.append(element("span", "name", name), element("span", "count"));
  pick.append(element("span", "dot"), text, element("kbd"));
  pick.onclick = () => choose(name);
  more.setAttribute("aria-label", `change class ${name}`);
  more.title = "Rename, recolour, merge or delete";
  more.onclick = () => openClassDialog(name);
  item.dataset.label = name;
  item.ondragover = (event) => {
    if (!dragged().length) return;
    event.preventDefault();
    item.classList.add("over");
  };
  item.ondragleave = () => item.classList.remove("over");
  item.ondrop = attempt(async (event) => {
    item.classList.remove("over");
    if (!dragged().length) return; // files from elsewhere are the page's
    event.preventDefault();
    await label(dragged(), name);
  });
  item.append(pick, more);
  return item;
}

function drawClasses() {
  const { classes } = state.project, { examplesOf } = state.counts;
  children(
    $("classes"),
    classes,
    ({ name }) => name,
    make,
    (item, { name, colour }, index) => {
      const [, text, key] = item.firstChild.children, sorted = state.counts.classes.get(name);
      const all = sorted === undefined ? "" : ` · ${count(sorted, "image")}`;
      const isNew = name === state.chosen && !item.classList.contains("chosen");
      item.classList.toggle("chosen", name === state.chosen);
      if (isNew) requestAnimationFrame(() => item.scrollIntoView({ block: "nearest", inline: "nearest" }));
      style(item, "--colour", colour);
      describe(item.firstChild, { "aria-pressed": name === state.chosen, title: name });
      write(key, { textContent: index < NUMBER_KEYS ? String(index + 1) : "", hidden: index >= NUMBER_KEYS });
      write(text.lastChild, { textContent: count(examplesOf[index], "example") + all });
    },
  );
}

$("new-class").onsubmit = attempt(async (event) => {
  event.preventDefault();
  const name = $("class-name").value.trim();
  $("class-name").value = "";
  await addClass(name);
});
whenDrawn(drawClasses);
