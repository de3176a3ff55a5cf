// What the page says of itself: what to do next, how many images, how far, and what can be undone.

import { $, count, describe, write } from "./elements.js";
import { showAndFocus } from "./keys.js";
import { attempt, change, redo, undo } from "./server.js";
import { isEnough, state, whenDrawn } from "./state.js";

const STAGES = {
  listing: "Looking for images in the folder",
  reading: "Reading images",
  embedding: "Looking at images, so that they can be compared",
};

function hint() {
  const { classes } = state.project, examples = state.counts.examples;
  if (!state.names.length) return "";
  if (!classes.length) return "Name a class, then click a few images that belong to it. Or let the page propose classes.";
  if (!examples) return `Click images of “${state.chosen}”, or drag them here.`;
  if (!isEnough()) return "Now add a second class and an example of it.";
  return "Choose a class, then click any image that is in the wrong one: everything is sorted again.";
}

function status() {
  const images = state.counts.everything, { result, project, progress } = state;
  if (state.adding) return state.adding;
  if (!images) return progress.stage === "listing" ? "Looking for images …" : "No images yet.";
  const missing = project.missing
    ? ` ${count(project.missing, "example is", "examples are")} of files that are not here now, and kept.`
    : "";
  const first = state.suggested.length ? "; the most useful ones to label come first" : "";
  if (!result) return `${count(images, "image")}${first}.${missing}`;
  return `${count(images, "image")} sorted from ${count(state.counts.examples, "example")}. ${result.quality}${missing}`;
}

function timeLeft(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 60) return ", less than a minute left";
  return `, about ${count(Math.round(seconds / 60), "minute")} left`;
}

function drawProgress() {
  const { stage, done, total, seconds_left: left, error } = state.progress;
  write($("work"), { hidden: stage === "ready" || !state.session });
  write($("work-bar"), { hidden: Boolean(error) });
  if (stage === "ready") return;
  if (error) return write($("work-text"), { textContent: `The images cannot be prepared: ${error}` });
  const far = total ? `: ${done.toLocaleString("en")} of ${total.toLocaleString("en")}` : " …";
  write($("work-text"), { textContent: `${STAGES[stage]}${far}${timeLeft(left)}. You can begin meanwhile.` });
  describe($("work-bar"), total ? { max: total, value: done } : { value: null });
}

function drawHistory() {
  for (const [id, what, verb] of [
    ["undo", state.project.can_undo, "Undo"],
    ["redo", state.project.can_redo, "Redo"],
  ]) {
    write($(id), { disabled: what === null, title: what === null ? `Nothing to ${verb.toLowerCase()}` : `${verb}: ${what}` });
    describe($(id), { "aria-label": what === null ? verb : `${verb}: ${what}` });
    write($(`${id}-what`), { textContent: what ?? "" });
  }
}

function drawReject() {
  const percent = Math.round(100 * (state.project.settings.reject ?? 0));
  if (document.activeElement !== $("reject")) write($("reject"), { value: String(percent) });
  write($("reject-value"), { textContent: `${$("reject").value} %` });
}

function drawStatus() {
  document.body.classList.toggle("sorted", state.result !== null);
  write($("hint"), { textContent: hint() });
  write($("status"), { textContent: status() });
  write($("stopped"), { hidden: state.reachable });
  write($("fresh"), { hidden: !state.hasNewOrder });
  write($("propose"), { disabled: !state.names.length });
  const skipped = state.skipped.length;
  write($("skipped"), { hidden: !skipped });
  write($("skipped-count"), { textContent: `${count(skipped, "file")} could not be read` });
  write($("skipped-list"), { textContent: state.skipped.slice(0, 200).join("\n") });
  drawProgress();
  drawHistory();
  drawReject();
}

$("undo").onclick = attempt(undo);
$("redo").onclick = attempt(redo);
$("fresh").onclick = showAndFocus;
$("reject").oninput = () => write($("reject-value"), { textContent: `${$("reject").value} %` });
$("reject").onchange = attempt(() => change({ kind: "set", reject: Number($("reject").value) / 100 || null }));
whenDrawn(drawStatus);
