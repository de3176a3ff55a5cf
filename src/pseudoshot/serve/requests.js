// What the page asks of the server; nothing is drawn here.

const FILES_A_REQUEST = 50, BYTES_A_REQUEST = 48 << 20;

async function ask(path, options) {
  const answer = await fetch(path, options);
  if (answer.ok) return answer;
  const { detail } = await answer.json().catch(() => ({ detail: answer.statusText }));
  throw new Error(detail);
}

export async function images() {
  return (await ask("/images")).json();
}

// Of all images, from examples: a Map from an image's number to its class.
function post(path, examples, reject) {
  const known = [...examples].map(([image, label]) => ({ image, label }));
  return ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ examples: known, reject: reject || null }),
  });
}

export async function classify(examples, reject) {
  return (await post("/classify", examples, reject)).json();
}

export async function download(path, name, examples, reject) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await post(path, examples, reject)).blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// Takes in what can be read and returns a sentence for each file that cannot. A part with such a
// file is refused whole, and sent again file by file.
export async function upload(files) {
  const refused = [];
  for (const part of inParts(files)) {
    await send(part).catch(async (error) => {
      if (part.length === 1) return refused.push(error.message);
      for (const file of part) await send([file]).catch((reason) => refused.push(reason.message));
    });
  }
  return refused;
}

function send(files) {
  const body = new FormData();
  for (const file of files) body.append("files", file);
  return ask("/images", { method: "POST", body });
}

function inParts(files) {
  const parts = [[]];
  let bytes = 0;
  for (const file of files) {
    if (parts.at(-1).length === FILES_A_REQUEST || bytes + file.size > BYTES_A_REQUEST) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1).push(file);
    bytes += file.size;
  }
  return parts.filter((part) => part.length);
}
