/** Makes an element. Children may be strings, or undefined; `on…` properties are listeners. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Makes a button that calls `onclick`. */
export function button(onclick, properties, ...children) {
  return element('button', { type: 'button', onclick, ...properties }, ...children);
}
