/** A map that forgets entries which were not read for one to two `keepMs`, at no cost per entry. */
export class Recent<Value> {
  readonly #keepMs: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #turnAtMs: number;

  constructor(keepMs: number, nowMs: number) {
    this.#keepMs = keepMs;
    this.#turnAtMs = nowMs + keepMs;
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) {
      this.#old.delete(key);
      this.#young.set(key, old);
    }
    return old;
  }

  set(key: string, value: Value): void {
    this.#old.delete(key);
    this.#young.set(key, value);
  }

  /** To be called more often than every `keepMs`. */
  forget(nowMs: number): void {
    if (nowMs < this.#turnAtMs) return;
    this.#turnAtMs = nowMs + this.#keepMs;
    this.#old = this.#young;
    this.#young = new Map();
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}
