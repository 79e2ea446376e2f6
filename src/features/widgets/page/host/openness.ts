/** Whether the panel of a widget is open in this tab, also on the next page that the tab shows. */
export class Openness {
  readonly #key: string;

  constructor(widgetId: string) {
    this.#key = `parley-open-${widgetId}`;
  }

  get isKept(): boolean {
    try {
      return sessionStorage.getItem(this.#key) !== null;
    } catch {
      return false;
    }
  }

  /** Does nothing where the browser keeps nothing, or has no space. */
  keep(isOpen: boolean): void {
    try {
      if (isOpen) sessionStorage.setItem(this.#key, '');
      else sessionStorage.removeItem(this.#key);
    } catch {
      // The next page begins with a closed panel.
    }
  }
}
