import { hash } from 'node:crypto';
import type { EventOf } from '@parley/protocol/socket/event-data.ts';
import { EVENTS, type EventName } from '@parley/protocol/socket/events.ts';

/**
 * The events that a client's polls have delivered, which the next poll leaves out. A cursor is ten
 * seconds old when it is handed out. So every poll is sent that time's changes of conversations
 * again, and the feed's since the previous poll began to read (changes/cursors.ts). A poll that
 * joins a conversation is sent its present state. Each of these events would end the next poll at
 * once. The record travels in the cursor (poll-cursor.ts), so it holds on every node.
 */
export class Delivered {
  readonly #before: ReadonlyMap<string, string>;
  readonly #now = new Map<string, string>();

  /** Reads what `toText` wrote. */
  constructor(text = '') {
    const entries = text.match(ENTRY) ?? [];
    this.#before = new Map(entries.map((entry) => [entry.slice(0, SUBJECT), entry.slice(SUBJECT)]));
  }

  /**
   * Returns whether the client has the event, and counts it as delivered from now on. Earlier
   * deliveries do not count if the event's conversation begins with this poll (`isBegun`).
   */
  has(event: EventOf, isBegun = false): boolean {
    const about = aboutOf(event);
    if (about === undefined) return false;
    const subject = digest(about.subject, SUBJECT);
    const state = about.state === undefined ? CHANGE : digest(about.state, STATE);
    const before = isBegun ? undefined : this.#before.get(subject);
    const last = this.#now.get(subject) ?? before ?? about.initially;
    this.#now.delete(subject);
    this.#now.set(subject, state);
    return last === state;
  }

  /**
   * Returns the text for the next poll. After a poll that sent everything missed (`isWhole`), only
   * changes that came in this poll can come again.
   */
  toText(isWhole: boolean): string {
    const kept = [...this.#before].filter(([, state]) => state !== CHANGE || !isWhole);
    const entries = [...new Map([...kept, ...this.#now])].filter(([, state]) => state !== ABSENT);
    return entries.slice(-MOST).flat().join('');
  }
}

/** Characters of base64url, of six bits each. */
const SUBJECT = 8;
const STATE = 6;
const ENTRY = new RegExp(`[\\w-]{${SUBJECT + STATE}}`, 'g');
/** Some 7 KB of a cursor. Events beyond are sent once more. */
const MOST = 500;
/** Stands for the state of a change, which was delivered or was not. */
const CHANGE = '-'.repeat(STATE);
const ABSENT = digest('offline', STATE);

interface About {
  readonly subject: string;
  /** Undefined for a change. */
  readonly state?: string;
  /** The state of a subject before any delivery. */
  readonly initially?: string;
}

/**
 * Returns undefined for an event that is sent once at most, and for a new message, which comes
 * again only to a client that asks for its number.
 */
function aboutOf(event: EventOf): About | undefined {
  switch (event.event) {
    case 'presence': {
      const { actor_id: actorId, status } = event.data;
      return { subject: `presence ${event.conversation_id} ${actorId}`, state: status, initially: ABSENT };
    }
    case 'message.snapshot':
      return { subject: `snapshot ${event.data.message_id}`, state: JSON.stringify(event.data) };
    case 'inbox.updated':
      return { subject: 'inbox', state: JSON.stringify({ ...event.data, as_of: null }) };
    default:
      if (['ephemeral', 'created'].includes(EVENTS[event.event].order)) return undefined;
      return { subject: changeOf(event) };
  }
}

/**
 * Identifies a change by its event, its resource and the time that is the resource's version. The
 * content does not count, because `conversation.added` shows whichever message is last.
 */
function changeOf({ event, conversation_id: conversationId, at, data }: EventOf): string {
  const id = 'id' in data ? data.id : 'message_id' in data ? data.message_id : undefined;
  return JSON.stringify([SENT_AGAIN_AS[event] ?? event, conversationId, id, at]);
}

/** Events that a resume sends as others. */
const SENT_AGAIN_AS: Readonly<Partial<Record<EventName, EventName>>> = {
  'draft.created': 'draft.updated',
  'participant.added': 'participant.updated',
};

function digest(text: string, characters: number): string {
  return hash('sha256', text, 'base64url').slice(0, characters);
}
