import type { PageEvents } from '../../index.ts';

/** A page that is visible, and whose network comes back. */
export class ModelPage implements PageEvents {
  readonly document = Object.assign(new Watched(), { visibilityState: 'visible' });
  readonly #window = new Watched();

  addEventListener(type: string, listener: () => void): void {
    this.#window.addEventListener(type, listener);
  }

  removeEventListener(type: string, listener: () => void): void {
    this.#window.removeEventListener(type, listener);
  }

  wake(): void {
    this.#window.emit();
  }
}

class Watched {
  readonly #listeners = new Set<() => void>();

  addEventListener(_type: string, listener: () => void): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: string, listener: () => void): void {
    this.#listeners.delete(listener);
  }

  emit(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
