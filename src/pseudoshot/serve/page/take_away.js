// What a person takes away: a table, a classifier, sorted folders, the project; or starts over.

import { $, count, write } from "./elements.js";
import { tell } from "./messages.js";
import * as requests from "./requests.js";
import { attempt, change, importProject, undo } from "./server.js";
import { state, whenDrawn } from "./state.js";

const dialog = $("folders-dialog");

$("csv").onclick = attempt(() => requests.download("/csv", "labels.csv", state.session));
$("classifier").onclick = attempt(() => requests.download("/classifier", "classifier.safetensors", state.session));
$("export").onclick = attempt(() => requests.download("/project/export", "project.pseudoshot.json", null));

$("folders").onclick = () => {
  $("folders-where").value ||= state.folder ? `${state.folder}-sorted` : "";
  $("folders-note").textContent =
    `A new folder is made on ${state.machine || "the machine"} (where the server runs), with one folder per class inside. ` +
    "Your own files are never moved or changed.";
  $("folders-result").textContent = "";
  dialog.showModal();
};

$("folders-form").onsubmit = async (event) => {
  event.preventDefault();
  const copy = $("folders-copy").checked;
  $("folders-result").textContent = copy ? "Copying …" : "Making links …";
  try {
    const made = await requests.sortInto(state.session, $("folders-where").value.trim(), copy);
    const what = count(made.images, copy ? "copy" : "link", copy ? "copies" : "links");
    const left = made.left_out ? ` ${count(made.left_out, "added image")} left out: they are no files there.` : "";
    $("folders-result").textContent = `Done: ${what} in ${made.folder} on ${state.machine || "the server's machine"}.${left}`;
  } catch (error) {
    $("folders-result").textContent = error.message;
  }
};
$("folders-close").onclick = () => dialog.close();

$("import").onclick = () => $("import-file").click();
$("import-file").onchange = attempt(async (event) => {
  const [file] = event.target.files;
  if (file) await importProject(await file.text());
  event.target.value = "";
  if (file) tell(`Project ${file.name} was opened.`, attempt(undo));
});

$("clear").onclick = attempt(async () => {
  await change({ kind: "clear" });
  tell("All classes and examples were taken away.", attempt(undo));
});

function drawTakeAway() {
  const isReady = state.result !== null;
  for (const id of ["csv", "classifier", "folders"]) write($(id), { disabled: !isReady });
  for (const id of ["export", "clear"]) write($(id), { disabled: !state.project.classes.length });
}
whenDrawn(drawTakeAway);
