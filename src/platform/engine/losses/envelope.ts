/**
 * The bytes before each message between nodes: 12 characters of the publisher's id, then,
 * little-endian, the channel's counter: its incarnation and the frame's number in it, u32 each.
 */
export interface Envelope {
  readonly publisherId: string;
  readonly incarnation: number;
  /** Starts at 1 and grows by one for each frame of the channel; 0 if the message is uncounted. */
  readonly number: number;
  readonly content: Buffer;
}

export const NODE_ID_BYTES = 12;
const NUMBER_AT = 16;
const ENVELOPE_BYTES = 20;

/** Makes the envelopes of one counter; `seal` costs one copy of the content. */
export class Sealer {
  readonly #head = Buffer.alloc(ENVELOPE_BYTES);

  constructor(publisherId: string, incarnation: number) {
    this.#head.write(publisherId, 0, NODE_ID_BYTES, 'latin1');
    this.#head.writeUInt32LE(incarnation, NODE_ID_BYTES);
  }

  seal(number: number, content: Buffer): Buffer {
    this.#head.writeUInt32LE(number, NUMBER_AT);
    return Buffer.concat([this.#head, content]);
  }
}

/** Returns an envelope with a view of `message`. Throws a RangeError if that is too short. */
export function openEnvelope(message: Buffer): Envelope {
  return {
    publisherId: message.toString('latin1', 0, NODE_ID_BYTES),
    incarnation: message.readUInt32LE(NODE_ID_BYTES),
    number: message.readUInt32LE(NUMBER_AT),
    content: message.subarray(ENVELOPE_BYTES),
  };
}

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

  /** Must be called more often than every `keepMs`. */
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
