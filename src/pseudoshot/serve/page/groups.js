// What the grid shows: everything, one class, one's own examples, or what is unlike all of them;
// in which order, found by which words, and how large.

import { $, children, describe, element, style, write } from "./elements.js";
import { toTop } from "./grid.js";
import { NONE, arrange, colourOf, draw, state, whenDrawn } from "./state.js";

const VIEWS = {
  everything: "Everything",
  examples: "My examples",
  none: NONE,
  unlike: "Unlike my examples",
  waiting: "Not looked at yet",
};

export function show(change) {
  Object.assign(state.view, change);
  arrange();
  toTop();
  draw();
}

function groupsShown() {
  const { counts, result, project } = state;
  const view = (kind) => ({ kind, name: null, text: VIEWS[kind], number: counts[kind] });
  const groups = [view("everything")];
  if (project.classes.length) groups.push(view("examples"));
  if (!result) return groups;
  for (const { name } of project.classes) {
    groups.push({ kind: "class", name, text: name, number: counts.classes.get(name) ?? 0 });
  }
  if (counts.none) groups.push(view("none"));
  groups.push(view("unlike"));
  if (counts.waiting) groups.push(view("waiting"));
  return groups;
}

function make({ kind, name, text }) {
  const button = element("button");
  if (name === null) button.dataset.view = kind;
  else button.dataset.group = name;
  if (name !== null) button.append(element("span", "dot"));
  button.append(element("span", "name", text), element("span", "count"));
  button.onclick = () => show({ kind, name });
  return button;
}

function drawGroups() {
  children(
    $("groups"),
    groupsShown(),
    ({ kind, name }) => `${kind} ${name ?? ""}`,
    make,
    (button, { kind, name, number }) => {
      describe(button, { "aria-pressed": kind === state.view.kind && name === state.view.name });
      write(button.lastChild, { textContent: number.toLocaleString("en") });
      if (name !== null) style(button, "--colour", colourOf(name) ?? "var(--soft)");
    },
  );
  write($("unlike"), { hidden: state.view.kind !== "unlike" });
  write($("sort"), { value: state.view.sort });
}

let typing = 0;
$("search").oninput = () => {
  clearTimeout(typing);
  typing = setTimeout(() => show({ search: $("search").value }), 120);
};
$("sort").onchange = () => show({ sort: $("sort").value });
$("side").oninput = () => {
  state.side = Number($("side").value);
  draw();
};
if (matchMedia("(max-width: 760px)").matches) state.side = 100;
whenDrawn(drawGroups);
