import { LRUCache } from 'lru-cache';
import { bounded } from '../../../platform/bounded.ts';

/** The sender's identity of a message: its client id in the conversation, else its own id. */
export interface Identified {
  readonly id: string;
  readonly conversation_id: string;
  readonly author_id: string | null;
  readonly client_message_id: string | null;
}

/** Returns the key; equal keys mean the same message. */
export function keyOf({ id, conversation_id, author_id, client_message_id }: Identified): string {
  return client_message_id === null ? id : `${conversation_id} ${author_id} ${client_message_id}`;
}

/** Keys of one of two generations: a key is remembered for 10,000 to 20,000 sends of a node. */
const MAX_KEYS = 10_000;

/** Numbers that an author's resends may cost in one window before its sends are looked up. */
const MAX_VOIDED = 20;
const WINDOW_MS = 60_000;
const MAX_AUTHORS = 10_000;

/**
 * Predicts which sends are resends. A send is written without looking for its client id first, so a
 * resend costs a number, which becomes a void. Likely resends are looked up before: sends whose key
 * this node has seen, and sends of an author whose resends have cost MAX_VOIDED numbers within a
 * minute.
 */
export class Resends {
  #recent = new Set<string>();
  #older = new Set<string>();
  readonly #voided = new LRUCache<string, number>({ ...bounded(MAX_AUTHORS), ttl: WINDOW_MS });

  isLikely(key: string, authorId: string | null): boolean {
    if (this.#recent.has(key) || this.#older.has(key)) return true;
    return this.#voided.size > 0 && (this.#voided.get(authorId ?? '') ?? 0) >= MAX_VOIDED;
  }

  /** Notes that a message with this key exists. */
  remember(key: string): void {
    this.#recent.add(key);
    if (this.#recent.size < MAX_KEYS) return;
    this.#older = this.#recent;
    this.#recent = new Set();
  }

  /** Notes that a resend of this author cost a number. */
  countVoided(authorId: string | null): void {
    const author = authorId ?? '';
    // The window begins with its first resend, so later ones do not extend it.
    const noUpdateTTL = this.#voided.has(author);
    this.#voided.set(author, (this.#voided.get(author) ?? 0) + 1, { noUpdateTTL });
  }
}
