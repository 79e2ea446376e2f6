/** A part of the page to which F6 leads. */
interface PagePart {
  readonly part: string;
  /** The elements in it that may take the focus, the best first; then the part itself. */
  readonly first: readonly string[];
}

/** The parts of the page, in the order of F6. */
const PARTS: readonly PagePart[] = [
  { part: '.side-bar', first: ['.inbox-row-link[tabindex="0"]', '.side-bar-find'] },
  { part: '.conversation-head', first: ['button'] },
  { part: '.conversation .timeline-rows', first: ['[data-message][tabindex="0"]'] },
  { part: '.conversation > .composer', first: ['.message-field', 'button'] },
  { part: '.shell-main:not(:has(.conversation))', first: [] },
  { part: '.side-pane', first: ['.message-field', 'button, a, [tabindex="0"]'] },
  { part: '.notices', first: ['button'] },
];

/** Moves the focus to the next or previous part of the page that is shown. */
export function focusPart(step: 1 | -1): void {
  const shown = PARTS.flatMap(({ part, first }) => {
    const element = document.querySelector<HTMLElement>(part);
    const inner = first.flatMap((one) => element?.querySelector<HTMLElement>(one) ?? []);
    const target = [...inner, element].find((one) => one?.checkVisibility());
    const isReachable = target !== element || element?.hasAttribute('tabindex') === true;
    return element && target && isReachable ? [{ element, target }] : [];
  });
  const at = shown.findIndex(({ element }) => element.contains(document.activeElement));
  const from = at === -1 && step === -1 ? 0 : at;
  shown.at((from + step + shown.length) % shown.length)?.target.focus();
}

/** Moves the focus into the main part, unless it is there, or at home to the list. */
export function focusMain(isHome: boolean): void {
  const main = document.querySelector<HTMLElement>('.shell-main');
  const row = document.querySelector<HTMLElement>('.inbox-row-link[tabindex="0"]');
  if (isHome && row !== null) row.focus();
  else if (main !== null && !main.contains(document.activeElement)) main.focus();
}

/** Moves the focus into the field of the open conversation, if it has one. */
export function focusField(): void {
  document.querySelector<HTMLElement>('.conversation > .composer .message-field')?.focus();
}
