/** The parts of the page, in the order of F6, by the elements that take their focus. */
const PARTS = [
  { part: '.side-bar', first: '.inbox-row-link[tabindex="0"], .side-bar-find' },
  { part: '.shell-main', first: null },
  { part: '.side-pane', first: 'button, a, [tabindex="0"]' },
] as const;

/** Moves the focus to the next or previous part of the page that is shown. */
export function focusPart(step: 1 | -1): void {
  const shown = PARTS.flatMap(({ part, first }) => {
    const element = document.querySelector<HTMLElement>(part);
    return element === null || element.offsetParent === null ? [] : [{ element, first }];
  });
  const at = shown.findIndex(({ element }) => element.contains(document.activeElement));
  const next = shown.at((at + step + shown.length) % shown.length);
  if (next === undefined) return;
  const { element, first } = next;
  const inner = first === null ? null : element.querySelector<HTMLElement>(first);
  (inner ?? element).focus();
}

/** Moves the focus into the main part, unless it is there, or at home to the list. */
export function focusMain(isHome: boolean): void {
  const main = document.querySelector<HTMLElement>('.shell-main');
  const row = document.querySelector<HTMLElement>('.inbox-row-link[tabindex="0"]');
  if (isHome && row !== null) row.focus();
  else if (main !== null && !main.contains(document.activeElement)) main.focus();
}
