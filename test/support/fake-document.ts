/**
 * As much of a page's document as the modules of the demo page use to draw: elements with
 * attributes, children and listeners.
 */

export class FakeElement {
  readonly tag: string;
  readonly attributes = new Map<string, string>();
  readonly classes = new Set<string>();
  readonly dataset: Record<string, string> = {};
  parent: FakeElement | undefined;
  children: (FakeElement | string)[] = [];
  hidden = false;
  disabled = false;
  placeholder = '';
  className = '';
  readonly #listeners = new Map<string, (event: object) => void>();
  #value: string | undefined;

  readonly classList = {
    toggle: (name: string, isOn: boolean) => (isOn ? this.classes.add(name) : this.classes.delete(name)),
  };

  constructor(tag: string) {
    this.tag = tag;
  }

  /** As of an input or a select, where the first option is chosen. */
  get value(): string {
    const [option] = this.querySelectorAll('option');
    return this.#value ?? option?.attributes.get('value') ?? '';
  }

  set value(value: string) {
    this.#value = value;
  }

  get childElementCount(): number {
    return this.children.filter((child) => typeof child !== 'string').length;
  }

  contains(other: FakeElement | null): boolean {
    return other === this || (other?.parent !== undefined && this.contains(other.parent));
  }

  get textContent(): string {
    return this.children.map((child) => (typeof child === 'string' ? child : child.textContent)).join('');
  }

  set textContent(text: string) {
    this.children = [text];
  }

  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
    if (name === 'hidden') this.hidden = true;
  }

  addEventListener(name: string, listener: (event: object) => void): void {
    this.#listeners.set(name, listener);
  }

  /** Calls the listener, as the browser does for what a person did. */
  act(name: string): void {
    this.#listeners.get(name)?.({ preventDefault() {} });
  }

  append(...children: (FakeElement | string)[]): void {
    for (const child of children) if (typeof child !== 'string') child.parent = this;
    this.children.push(...children);
  }

  replaceChildren(...children: (FakeElement | string)[]): void {
    this.children = [];
    this.append(...children);
  }

  remove(): void {
    if (this.parent) this.parent.children = this.parent.children.filter((child) => child !== this);
  }

  /** By the name of a tag, at any depth. */
  querySelectorAll(tag: string): FakeElement[] {
    const elements = this.children.filter((child) => typeof child !== 'string');
    return elements.flatMap((child) => [
      ...(child.tag === tag ? [child] : []),
      ...child.querySelectorAll(tag),
    ]);
  }
}

/** Makes modules of pages believe that they are in one. */
export function fakeDocument(): void {
  Object.assign(globalThis, {
    document: { createElement: (tag: string) => new FakeElement(tag), activeElement: null },
    ResizeObserver: class {
      readonly #resized: () => void;

      constructor(resized: () => void) {
        this.#resized = resized;
      }

      observe(element: FakeElement): void {
        element.addEventListener('resize', this.#resized);
      }
    },
  });
}
