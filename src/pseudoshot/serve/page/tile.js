// One tile of the grid: made once, then given one image after another.

import { inkOn } from "./colours.js";
import { describe, element, style, write } from "./elements.js";
import { thumbnail } from "./requests.js";
import { colourOf, labelOf, state } from "./state.js";

export class Tile {
  constructor() {
    this.image = -1;
    this.source = "";
    this.element = element("div", "tile");
    this.element.setAttribute("role", "option");
    this.element.draggable = true;
    this.picture = element("img");
    this.picture.alt = "";
    this.picture.draggable = false;
    this.picture.decoding = "async";
    this.picture.onerror = () => (this.source = ""); // to be tried again
    this.name = element("span", "name");
    this.sure = element("span", "sure");
    this.bar = element("span", "bar");
    const about = element("span", "about");
    about.append(this.name, this.sure);
    this.element.append(this.picture, about, this.bar);
  }

  // The picture of before must not be seen under another name, not even for a moment.
  give(image) {
    this.image = image;
    this.source = "";
    this.picture.removeAttribute("src");
  }

  loadPicture() {
    const source = thumbnail(this.image, state.session);
    if (this.source === source) return;
    this.source = source;
    this.picture.src = source;
  }

  draw(position, x, y) {
    const { image } = this, { name, isGiven, sure } = labelOf(image);
    const file = state.names[image] ?? "", colour = colourOf(name) ?? "var(--soft)";
    const percent = `${Math.round(100 * sure)} %`;
    const isSelected = state.selected.has(image);
    const said = !name ? "no class yet" : isGiven ? `your example of ${name}` : `${name}, ${percent} certain`;
    write(this.element, {
      title: file,
      className: "tile" + (isGiven ? " example" : "") + (isSelected ? " selected" : ""),
    });
    describe(this.element, {
      "data-image": image,
      tabindex: image === state.focus ? 0 : -1,
      "aria-label": `${file}: ${said}`,
      "aria-selected": isSelected,
      "aria-posinset": position + 1,
      "aria-setsize": state.order.length,
    });
    style(this.element, "translate", `${x}px ${y}px`);
    style(this.element, "--colour", colour);
    style(this.element, "--on-colour", inkOn(colour));
    write(this.name, { textContent: name || file.split("/").at(-1), className: name ? "name" : "name file" });
    write(this.sure, { textContent: isGiven ? "example" : name ? percent : "" });
    style(this.bar, "width", isGiven || !name ? "0px" : percent.replace(" ", ""));
  }
}
