const OPEN = '<think>';
const CLOSE = '</think>';

/**
 * Takes the reasoning off the beginning of a model's answer: some servers leave the block that the
 * model thinks in, `<think>…</think>`, in the text. A block without an end is reasoning to the last
 * character. Blanks before the first visible character are held back, so an answer of blanks is an
 * empty text.
 */
export class ThinkBlock {
  #state: 'undecided' | 'thinking' | 'over' = 'undecided';
  /** Text that may still become a tag. */
  #held = '';
  #wasThinking = false;

  /** Returns the part that readers get. */
  push(text: string): string {
    if (this.#state === 'over') return text;
    this.#held += text;
    for (;;) {
      if (this.#state === 'thinking') {
        const end = this.#held.indexOf(CLOSE);
        if (end === -1) {
          this.#held = this.#held.slice(-CLOSE.length);
          return '';
        }
        this.#held = this.#held.slice(end + CLOSE.length);
        this.#state = 'undecided';
      }
      const said = this.#held.trimStart();
      if (said !== OPEN && OPEN.startsWith(said)) return '';
      if (!said.startsWith(OPEN)) {
        this.#state = 'over';
        return this.#wasThinking ? said : this.#held;
      }
      this.#held = said.slice(OPEN.length);
      this.#state = 'thinking';
      this.#wasThinking = true;
    }
  }

  /** Returns held text that turned out to be no tag, at the end of the answer. */
  end(): string {
    const said = this.#held.trimStart();
    return this.#state === 'undecided' ? said : '';
  }
}
