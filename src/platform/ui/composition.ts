/** The part of a key event by which Composition decides. */
export interface ComposedKey {
  readonly isComposing: boolean;
  /** 229 while an input method handles the key. */
  readonly keyCode: number;
}

/**
 * Knows whether a key belongs to an input method, such as Enter that accepts a Japanese word. Some
 * browsers report that Enter only after the composition has ended, without any mark.
 */
export class Composition {
  #isUnderWay = false;

  readonly begin = (): void => {
    this.#isUnderWay = true;
  };

  readonly end = (): void => {
    setTimeout(() => {
      this.#isUnderWay = false;
    }, 0);
  };

  /** Returns whether the key is one of the input method. */
  owns({ isComposing, keyCode }: ComposedKey): boolean {
    return isComposing || keyCode === 229 || this.#isUnderWay;
  }
}
