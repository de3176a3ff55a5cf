// Colours of classes: told apart in light and dark, kept with the project.

const COLOURS = [
  "#1f6fa8", "#c0392b", "#237a4b", "#8e5ea2", "#a05f00", "#00727f",
  "#7a4a2b", "#5361b8", "#56731a", "#b0307f", "#4d5a66", "#a8324a",
];

// The first that no class has, or one of those used least.
export function nextColour(classes) {
  const used = new Map(COLOURS.map((colour) => [colour, 0]));
  for (const { colour } of classes) if (used.has(colour)) used.set(colour, used.get(colour) + 1);
  const least = Math.min(...used.values());
  return COLOURS.find((colour) => used.get(colour) === least);
}

// Black or white, whichever is easier to read on a colour (WCAG's relative luminance).
export function inkOn(colour) {
  const parts = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour ?? "");
  if (!parts) return "#ffffff";
  const [red, green, blue] = parts.slice(1).map((part) => {
    const value = parseInt(part, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}
