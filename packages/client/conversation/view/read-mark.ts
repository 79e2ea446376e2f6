/** A read position that moves forward, and is requested once. */
export class ReadMark {
  #through = 0;

  /** Calls `write` for a number that is not read. What is refused may be tried again. */
  async move(sequence: number, write: () => Promise<void>): Promise<void> {
    const before = this.#through;
    if (sequence <= before) return;
    this.#through = sequence;
    try {
      await write();
    } catch (error) {
      if (this.#through === sequence) this.#through = before;
      throw error;
    }
  }

  /** The position was moved back. */
  reset(sequence: number): void {
    this.#through = Math.min(this.#through, sequence);
  }
}
