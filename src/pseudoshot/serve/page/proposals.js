// Groups of images that look alike, as proposals for classes: look, name, accept.

import { nextColour } from "./colours.js";
import { $, count, element } from "./elements.js";
import { tell } from "./messages.js";
import { NO_EXAMPLE } from "./order.js";
import * as requests from "./requests.js";
import { attempt, change, undo } from "./server.js";
import { checkName, choose, state } from "./state.js";

const SHOWN = 8; // pictures of a group, which become its first examples
const dialog = $("proposals"), list = $("proposed");

async function propose(among) {
  $("proposals-note").textContent = "Looking for images that look alike …";
  list.replaceChildren();
  $("accept-all").disabled = true;
  dialog.showModal();
  const { groups } = await requests.propose(state.session, among).catch((error) => {
    dialog.close();
    throw error;
  });
  list.replaceChildren(...groups.map(card).filter(Boolean));
  $("accept-all").disabled = !list.children.length;
  $("proposals-note").textContent = note(list.children.length);
  list.querySelector("button.accept")?.focus();
}

function note(groups) {
  const isEarly = state.progress.stage !== "ready";
  const early = isEarly ? "Not all images have been looked at yet: there will be better proposals later. " : "";
  if (!groups) return `${early}No groups were found among these images.`;
  return (
    `${early}Each row is a group of images that look alike. Give a group a name and accept it: the pictures you see ` +
    "become its first examples. Click a picture that does not belong to leave it out. You can undo all of it."
  );
}

function card({ images, size }, index) {
  const free = images.filter((image) => state.given[image] === NO_EXAMPLE).slice(0, SHOWN);
  if (!free.length) return null;
  const item = element("li", "proposal"), form = element("form"), field = element("input");
  field.value = freeName(index + 1);
  field.maxLength = 100;
  field.setAttribute("aria-label", `name of group ${index + 1}`);
  const accept = element("button", "accept", "Accept"), skip = element("button", "quiet", "Skip");
  skip.type = "button";
  skip.onclick = () => away(item);
  form.append(field, element("span", "count", `${count(size, "image")} like these`), accept, skip);
  form.onsubmit = attempt(async (event) => {
    event.preventDefault();
    await take([item]);
  });
  const pictures = element("div", "pictures");
  pictures.append(...free.map(pictureOf));
  item.append(form, pictures);
  return item;
}

function pictureOf(image) {
  const button = element("button", "picture"), picture = element("img");
  button.type = "button";
  button.dataset.file = state.names[image];
  button.title = state.names[image];
  button.setAttribute("aria-pressed", "true");
  picture.src = requests.thumbnail(image, state.session);
  picture.alt = state.names[image];
  button.append(picture);
  button.onclick = () => button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  return button;
}

function freeName(number) {
  const taken = new Set(state.project.classes.map(({ name }) => name));
  let name = `group ${number}`;
  for (let other = number; taken.has(name); other++) name = `group ${other + 1}`;
  return name;
}

// All rows in one change, so that one undo takes them back.
async function take(items) {
  const classes = [...state.project.classes], edits = [];
  for (const item of items) {
    const name = item.querySelector("input").value.trim();
    const files = [...item.querySelectorAll(".picture[aria-pressed=true]")].map((button) => button.dataset.file);
    checkName(name);
    if (!name) throw new Error("a group needs a name to become a class");
    if (!files.length) continue;
    if (!classes.some((one) => one.name === name)) {
      const made = { name, colour: nextColour(classes) };
      edits.push({ kind: "add_class", ...made });
      classes.push(made);
    }
    edits.push({ kind: "label", files, class: name });
  }
  if (edits.length) {
    choose(edits.at(-1).class);
    await change(...edits);
  }
  items.forEach(away);
  tell(`${count(items.length, "proposal")} accepted.`, attempt(undo));
}

function away(item) {
  const next = item.nextElementSibling ?? item.previousElementSibling;
  item.remove();
  if (next) next.querySelector("button.accept").focus();
  else dialog.close();
}

$("propose").onclick = attempt(() => propose("all"));
$("propose-unlike").onclick = attempt(() => propose("unlike"));
$("accept-all").onclick = attempt(() => take([...list.children]));
$("proposals-close").onclick = () => dialog.close();
