// What can be done to one class: another name or colour, into another class, or gone. All of it
// can be undone.

import { $, count, element } from "./elements.js";
import { tell } from "./messages.js";
import { attempt, change, undo } from "./server.js";
import { checkName, choose, state } from "./state.js";

const dialog = $("class-dialog");
let name = "";

export function openClassDialog(called) {
  name = called;
  const { classes, examples } = state.project;
  const number = Object.values(examples).filter((one) => one === name).length;
  $("class-title").textContent = `Class “${name}”, ${count(number, "example")}`;
  $("class-rename").value = name;
  $("class-colour").value = classes.find((one) => one.name === name).colour;
  const others = classes.filter((one) => one.name !== name);
  $("class-merge").replaceChildren(
    ...others.map((one) => {
      const option = element("option", "", one.name);
      option.value = one.name;
      return option;
    }),
  );
  $("class-merge-form").hidden = !others.length;
  dialog.showModal();
}

const thenClose = (action) =>
  attempt(async (event) => {
    event.preventDefault();
    dialog.close();
    await action();
  });

// What is chosen and shown stays so under another name.
function call(before, after) {
  if (state.chosen === before) choose(after);
  if (state.view.name === before) state.view.name = after;
}

$("class-rename-form").onsubmit = thenClose(async () => {
  const to = $("class-rename").value.trim();
  checkName(to);
  if (!to || to === name) return;
  if (state.project.classes.some((one) => one.name === to)) throw new Error(`there is a class “${to}” already: merge into it instead`);
  call(name, to);
  await change({ kind: "rename_class", name, to }).catch((error) => {
    call(to, name);
    throw error;
  });
});
$("class-colour-form").onsubmit = thenClose(() =>
  change({ kind: "recolour_class", name, colour: $("class-colour").value }),
);
$("class-merge-form").onsubmit = thenClose(async () => {
  const into = $("class-merge").value;
  await change({ kind: "merge_class", name, into });
  tell(`“${name}” is part of “${into}” now.`, attempt(undo));
});
$("class-delete").onclick = thenClose(async () => {
  await change({ kind: "delete_class", name });
  tell(`Class “${name}” was deleted; its images stay.`, attempt(undo));
});
