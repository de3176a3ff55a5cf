// Which images are shown, in which order: pure functions over typed arrays, linear in the images.

export const NONE_OF_THESE = 65535, NOT_YET = 65534; // labels of /sort that are no class
export const NO_EXAMPLE = 65535; // in `given`
const UNLIKE = 7500; // of 10,000: the quarter of the images that is least like any example
const MOST = 10_000, LAST = MOST + 1, AFTER_LAST = MOST + 2;

export function imagesInOrder({ names, suggested, given, result, view, nameRanks }) {
  const { sort, search } = view;
  const isShown = filterOf(view, given, result);
  const wanted = search.trim().toLowerCase();
  const found = (image) => !wanted || names[image].toLowerCase().includes(wanted);
  const all = new Uint32Array(names.length);
  let size = 0;
  for (let image = 0; image < names.length; image++) {
    if (names[image] !== null && isShown(image) && found(image)) all[size++] = image;
  }
  const kept = all.subarray(0, size);
  if (sort === "name") return byKey(kept, (image) => nameRanks[image], names.length);
  if (!result) return suggestedFirst(kept, suggested);
  return byKey(kept, keyOf(view, given, result), AFTER_LAST);
}

function filterOf({ kind, name }, given, result) {
  if (kind === "examples") return (image) => given[image] !== NO_EXAMPLE;
  if (kind === "everything" || !result) return () => true;
  const { labels, classes, distance } = result;
  if (kind === "unlike") {
    return (image) => given[image] === NO_EXAMPLE && labels[image] !== NOT_YET && distance[image] >= UNLIKE;
  }
  const label = kind === "none" ? NONE_OF_THESE : kind === "waiting" ? NOT_YET : classes.indexOf(name);
  return (image) => labels[image] === label;
}

function keyOf({ kind, sort }, given, { labels, confidences, distance }) {
  const key = {
    doubtful: (image) => confidences[image],
    certain: (image) => MOST - confidences[image],
    unlike: (image) => MOST - distance[image],
  }[kind === "unlike" && sort === "doubtful" ? "unlike" : sort];
  // Of examples nobody doubts, and of images that were not looked at yet nothing is known.
  return (image) => {
    if (image >= labels.length || labels[image] === NOT_YET) return AFTER_LAST;
    return given[image] === NO_EXAMPLE ? key(image) : LAST;
  };
}

// Before anything is known: the images whose labels would tell most, then the others.
function suggestedFirst(kept, suggested) {
  const first = new Set(suggested);
  const there = new Set(suggested.length ? kept : []);
  const begin = suggested.filter((image) => there.has(image)), rest = kept.filter((image) => !first.has(image));
  const order = new Uint32Array(begin.length + rest.length);
  order.set(begin);
  order.set(rest, begin.length);
  return order;
}

// A counting sort: images of equal keys keep their order.
function byKey(images, key, largest) {
  const keys = new Uint32Array(images.length), starts = new Uint32Array(largest + 2);
  for (let index = 0; index < images.length; index++) {
    keys[index] = key(images[index]);
    starts[keys[index] + 1]++;
  }
  for (let value = 0; value <= largest; value++) starts[value + 1] += starts[value];
  const sorted = new Uint32Array(images.length);
  for (let index = 0; index < images.length; index++) sorted[starts[keys[index]]++] = images[index];
  return sorted;
}

// The place of each image when sorted by name, numbers within names by their value.
export function ranksOfNames(names) {
  const { compare } = new Intl.Collator("en", { numeric: true });
  const sorted = Uint32Array.from(names.keys()).sort((a, b) => compare(names[a] ?? "", names[b] ?? ""));
  const ranks = new Uint32Array(names.length);
  sorted.forEach((image, rank) => (ranks[image] = rank));
  return ranks;
}

// How many images each view would show; labels are counted in one pass.
export function countsOf({ names, given, result }) {
  const counts = { everything: 0, examples: 0, unlike: 0, none: 0, waiting: 0 };
  const ofClass = new Uint32Array(65536), examplesOf = new Uint32Array(65536);
  for (let image = 0; image < names.length; image++) {
    if (names[image] === null) continue;
    counts.everything++;
    if (given[image] !== NO_EXAMPLE) {
      counts.examples++;
      examplesOf[given[image]]++;
    }
    if (!result || image >= result.labels.length) continue;
    const label = result.labels[image];
    ofClass[label]++;
    if (label === NOT_YET) continue;
    if (given[image] === NO_EXAMPLE && result.distance[image] >= UNLIKE) counts.unlike++;
  }
  counts.none = ofClass[NONE_OF_THESE];
  counts.waiting = ofClass[NOT_YET];
  return { ...counts, examplesOf, classes: new Map((result?.classes ?? []).map((name, place) => [name, ofClass[place]])) };
}
