// What the page asks of the server; nothing is drawn here.

const FILES_PER_REQUEST = 50, BYTES_PER_REQUEST = 48 << 20;

export class Refused extends Error {
  constructor(status, detail, stale) {
    super(detail);
    Object.assign(this, { status, stale });
  }
}

export class Unreachable extends Error {}

async function ask(path, options) {
  const answer = await fetch(path, options).catch(() => {
    throw new Unreachable("the server does not answer");
  });
  if (answer.ok) return answer;
  const { detail, stale } = await answer.json().catch(() => ({ detail: answer.statusText }));
  throw new Refused(answer.status, detail, Boolean(stale));
}

const get = async (path) => (await ask(path)).json();

function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

export const images = () => get("/images");
export const progress = (session) => get(`/progress?session=${session}`);
export const thumbnail = (image, session) => `/images/${image}?session=${session}`;
export const picture = (image, session) => `/images/${image}?session=${session}&size=large`;
export const remove = (image, session) => ask(`/images/${image}?session=${session}`, { method: "DELETE" });

export const project = () => get("/project");
export const change = async (base, edits) => (await post("/project/changes", { base, edits })).json();
export const undo = async () => (await post("/project/undo", {})).json();
export const redo = async () => (await post("/project/redo", {})).json();

// Null where nothing is new.
export async function projectSince(version) {
  const answer = await ask(`/project?since=${version}`);
  return answer.status === 204 ? null : answer.json();
}

export async function importProject(file) {
  const headers = { "Content-Type": "application/json" };
  return (await ask("/project/import", { method: "POST", headers, body: file })).json();
}

export async function sort(session) {
  const answer = await (await post("/sort", { session })).json();
  for (const part of ["labels", "confidences", "runners_up", "distance"]) answer[part] = numbers(answer[part]);
  return answer;
}

function numbers(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  return new Uint16Array(bytes.buffer); // little-endian, as every machine with a browser
}

export const propose = async (session, among) => (await post("/propose", { session, among })).json();
export const sortInto = async (session, folder, copy) => (await post("/sort-into", { session, folder, copy })).json();

export async function download(path, name, session) {
  const answer = session === null ? await ask(path) : await post(path, { session });
  const told = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = told?.[1] ?? name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// Takes in what can be read and returns a sentence for each file that cannot. A part with such a
// file is refused whole, and sent again file by file. `files` are {file, name}.
export async function upload(files, session, tell) {
  const refused = [];
  let done = 0;
  for (const part of inParts(files)) {
    await send(part, session).catch(async (error) => {
      if (![413, 422].includes(error.status)) throw error;
      if (part.length === 1) return refused.push(error.message);
      for (const one of part) {
        await send([one], session).catch((reason) => refused.push(reason.message));
      }
    });
    tell((done += part.length));
  }
  return refused;
}

function send(files, session) {
  const body = new FormData();
  for (const { file, name } of files) body.append("files", file, name);
  return ask(`/images?session=${session}`, { method: "POST", body });
}

function inParts(files) {
  const parts = [[]];
  let bytes = 0;
  for (const one of files) {
    if (parts.at(-1).length === FILES_PER_REQUEST || bytes + one.file.size > BYTES_PER_REQUEST) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1).push(one);
    bytes += one.file.size;
  }
  return parts.filter((part) => part.length);
}
