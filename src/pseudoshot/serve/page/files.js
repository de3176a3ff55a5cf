// Images that are dropped or chosen, folders with their relative names.

import { $, count } from "./elements.js";
import { tell, tellOff } from "./messages.js";
import * as requests from "./requests.js";
import { attempt, load } from "./server.js";
import { draw, state } from "./state.js";

const IMAGE = /\.(jpe?g|png|webp|gif|bmp|tiff?)$/i;
const MOST_TOLD = 5;

async function add(files) {
  if (!files.length) return tell("There were no images in it.");
  const tellHowFar = (done) => {
    state.adding = done < files.length ? `Adding images: ${done} of ${files.length} …` : null;
    draw();
  };
  tellHowFar(0);
  const refused = await requests.upload(files, state.session, tellHowFar).finally(() => (state.adding = null));
  await load();
  if (refused.length) tellOff(refused.slice(0, MOST_TOLD).join(" · ") + (refused.length > MOST_TOLD ? " …" : ""));
  else tell(`${count(files.length, "image")} added.`);
}

// Of a folder, what looks like an image; files chosen one by one are taken as they are.
async function filesOf(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, name: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader(), found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) break; // a folder is read a hundred entries at a time
    for (const one of some) if (one.isDirectory || IMAGE.test(one.name)) found.push(...(await filesOf(one)));
  }
  return found;
}

const isOfFiles = (event) => event.dataTransfer.types.includes("Files");

document.ondragover = (event) => {
  if (!isOfFiles(event)) return;
  event.preventDefault();
  $("drop").classList.add("over");
};
document.ondragleave = () => $("drop").classList.remove("over");
document.ondrop = attempt(async (event) => {
  $("drop").classList.remove("over");
  if (!isOfFiles(event)) return;
  event.preventDefault();
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const found = [];
  for (const entry of entries) found.push(...(await filesOf(entry)));
  await add(found);
});

const chosen = attempt(async (event) => {
  const files = [...event.target.files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));
  event.target.value = "";
  await add(files.filter(({ file }) => !file.webkitRelativePath || IMAGE.test(file.name)));
});
$("files").onchange = chosen;
$("folder").onchange = chosen;
$("choose-files").onclick = () => $("files").click();
$("choose-folder").onclick = () => $("folder").click();
