/** A read position that moves forward, and is requested once. */
export class ReadMark {
  #through = 0;

  /** Calls `write` for an unread number. A refused move may be tried again. */
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

  /** Moves the position back. */
  reset(sequence: number): void {
    this.#through = Math.min(this.#through, sequence);
  }
}
