// Small helpers for elements. Text is only ever set as text: no name becomes HTML.

export const $ = (id) => document.getElementById(id);

export function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Writes only what differs, so that drawing the same again costs nothing and moves no focus.
export function write(target, values) {
  for (const [name, value] of Object.entries(values)) if (target[name] !== value) target[name] = value;
}

export function describe(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) target.removeAttribute(name);
    else if (target.getAttribute(name) !== String(value)) target.setAttribute(name, value);
  }
}

export function style(target, name, value) {
  if (target.style.getPropertyValue(name) !== value) target.style.setProperty(name, value);
}

// One child per item, found again by its key: a child that stays keeps its focus.
export function children(parent, items, key, make, update) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let next = parent.firstElementChild;
  for (const [index, item] of items.entries()) {
    const child = before.get(key(item)) ?? make(item);
    before.delete(key(item));
    child.dataset.key = key(item);
    update(child, item, index);
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
  for (const child of before.values()) child.remove();
}

export const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export const isTyping = (target) => target.matches("input:not([type=range]), textarea, select");
