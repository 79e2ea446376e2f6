import type { Engine } from '../../engine/engine.ts';
import type {
  EphemeralFrame,
  PieceFrame,
  PresenceFrame,
  PresenceReport,
  PresentActor,
} from '../../engine/frame.ts';
import { toEphemeralFrame } from '../../engine/publish.ts';
import { Loop } from '../../lifecycle.ts';
import type {
  DeclaredStatus,
  Presence as PresenceData,
  PresenceStatus,
} from '../../protocol/socket/activity.ts';
import { bytesFor } from '../stream/forms.ts';
import type { Reader } from '../stream/reader.ts';
import { ConversationPresence, type Declared } from './conversation-presence.ts';

export interface PresenceOptions {
  readonly engine: Pick<Engine, 'nodeId' | 'publish'>;
  /** How long an actor counts as there behind its last socket, and a node's word without another. */
  readonly holdMs: number;
  /** Gives an event to the team's readers on this node; false where nobody reads the conversation here. */
  readonly tell: (conversationId: string, event: EphemeralFrame | PieceFrame) => boolean;
  readonly onError: (error: unknown) => void;
}

/**
 * Who is online (realtime.md section 3), over the engine alone. Each node says on a conversation's channel
 * who of its own sockets is there: the whole of it, when it changes, when a node that begins to
 * listen asks, and again and again. So a word that is lost is made up for by the next, and those of a node
 * that was killed are offline when its last word is too old. Every node makes the events for its
 * own readers out of what it heard.
 *
 * A socket that never says `presence` has none and costs nothing here. Presence in a conversation is that of
 * the sockets subscribed to it.
 */
export class Presence {
  readonly #options: PresenceOptions;
  readonly #declared = new WeakMap<Reader, Declared>();
  readonly #conversations = new Map<string, Known>();
  readonly #changed = new Set<string>();
  readonly #loop: Loop;
  #settling: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: Math.ceil(options.holdMs / ROUNDS_A_HOLD),
      run: async () => this.#round(),
      onError: options.onError,
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#settling);
    this.#conversations.clear();
    return this.#loop.close();
  }

  /** What a socket says of its actor, in the conversations that it follows now and will follow. */
  declare(reader: Reader, actorId: string, status: DeclaredStatus, conversationIds: Iterable<string>): void {
    const known = this.#declared.get(reader);
    if (known?.status === status) return;
    const declared = known ?? { actorId, status };
    declared.status = status;
    this.#declared.set(reader, declared);
    for (const id of conversationIds) this.#enter(id, reader, declared);
  }

  /** This node listens to the conversation from here on: it asks who is there elsewhere. */
  opened(conversationId: string): void {
    this.#publish(conversationId, { asks: true, present: this.#of(conversationId)?.presence.own() ?? [] });
  }

  closed(conversationId: string): void {
    const known = this.#of(conversationId);
    known?.presence.forgetOthers();
    if (known?.presence.empty === true) this.#conversations.delete(conversationId);
  }

  /** The reader gets what comes from here on: first it learns who is there, and then counts itself. */
  entered(conversationId: string, reader: Reader): void {
    const known = this.#of(conversationId);
    if (known !== undefined) {
      for (const [actorId, status] of known.presence.published()) {
        if (status !== 'offline') send(reader, conversationId, actorId, status);
      }
      // The first reader here has nobody's word before it.
      this.#touch(conversationId);
    }
    const declared = this.#declared.get(reader);
    if (declared !== undefined) this.#enter(conversationId, reader, declared);
  }

  left(conversationId: string, reader: Reader): void {
    const untilMs = performance.now() + this.#options.holdMs;
    if (this.#of(conversationId)?.presence.leave(reader, untilMs) === true) this.#touch(conversationId);
  }

  /** For a reader that events were withheld from: everything it may have missed, who went offline among it. */
  repeat(conversationId: string, reader: Reader): void {
    for (const [actorId, status] of this.#of(conversationId)?.presence.published() ?? []) {
      send(reader, conversationId, actorId, status);
    }
  }

  /** What another node says. Never throws. */
  onReport(conversationId: string, { nodeId, report }: PresenceFrame): void {
    if (nodeId === this.#options.engine.nodeId || report === undefined) return;
    if (report.present.length > 0 || this.#of(conversationId) !== undefined) {
      const { presence } = this.#open(conversationId);
      presence.update(nodeId, report.present, performance.now() + this.#options.holdMs);
      this.#touch(conversationId);
    }
    const known = this.#of(conversationId);
    if (!report.asks || known === undefined || known.published === NOTHING) return;
    known.published = ASKED_FOR;
    this.#touch(conversationId);
  }

  #of(conversationId: string): Known | undefined {
    return this.#conversations.get(conversationId);
  }

  #open(conversationId: string): Known {
    let known = this.#conversations.get(conversationId);
    if (known === undefined) {
      known = { presence: new ConversationPresence(), published: NOTHING, publishedAtMs: 0 };
      this.#conversations.set(conversationId, known);
    }
    return known;
  }

  #enter(conversationId: string, reader: Reader, declared: Declared): void {
    this.#open(conversationId).presence.enter(reader, declared);
    this.#touch(conversationId);
  }

  /** Gathered for a moment: a thousand sockets that come at once are one word, not a thousand. */
  #touch(conversationId: string): void {
    if (this.#closed) return;
    this.#changed.add(conversationId);
    this.#settling ??= setTimeout(() => {
      this.#settling = undefined;
      const changed = [...this.#changed];
      this.#changed.clear();
      for (const id of changed) this.#settle(id);
    }, GATHER_MS);
  }

  /** Tells the other nodes and the readers here what they do not know yet. */
  #settle(conversationId: string): void {
    const known = this.#of(conversationId);
    if (known === undefined) return;
    const own = known.presence.own();
    if (JSON.stringify(own) !== known.published) this.#announce(conversationId, known, own);
    for (const [actorId, status] of known.presence.news()) {
      if (this.#options.tell(conversationId, eventOf(conversationId, actorId, status))) continue;
      known.presence.forgetTold();
      break;
    }
    if (known.presence.empty) this.#conversations.delete(conversationId);
  }

  #round(): void {
    const nowMs = performance.now();
    const againMs = this.#options.holdMs / WORDS_A_HOLD;
    for (const [conversationId, known] of this.#conversations) {
      if (known.presence.expire(nowMs)) this.#touch(conversationId);
      else if (known.published !== NOTHING && nowMs - known.publishedAtMs >= againMs) {
        this.#announce(conversationId, known, known.presence.own());
      }
    }
  }

  #announce(conversationId: string, known: Known, present: readonly PresentActor[]): void {
    known.published = JSON.stringify(present);
    known.publishedAtMs = performance.now();
    this.#publish(conversationId, { asks: false, present });
  }

  #publish(conversationId: string, report: PresenceReport): void {
    const { engine } = this.#options;
    engine
      .publish(conversationId, { kind: 'presence', stream: conversationId, nodeId: engine.nodeId, report })
      // Said again soon.
      .catch(() => {});
  }
}

interface Known {
  readonly presence: ConversationPresence;
  /** What the other nodes were told last, as it was encoded. */
  published: string;
  publishedAtMs: number;
}

/** Of a node that has nobody to tell of. */
const NOTHING = '[]';
/** Somebody has not heard it: no state looks like this one. */
const ASKED_FOR = '';
const GATHER_MS = 50;
const ROUNDS_A_HOLD = 12;
/** Two words may be lost before a node is not believed any more. */
const WORDS_A_HOLD = 3;

function send(reader: Reader, conversationId: string, actorId: string, status: PresenceStatus): void {
  const bytes = bytesFor(eventOf(conversationId, actorId, status), reader);
  if (bytes !== undefined) reader.send(bytes);
}

function eventOf(conversationId: string, actorId: string, status: PresenceStatus) {
  return toEphemeralFrame({
    event: 'presence',
    stream: conversationId,
    conversationId,
    sequence: 0,
    resource: actorId,
    at: new Date().toISOString(),
    team: { actor_id: actorId, status } satisfies PresenceData,
    customer: undefined,
  });
}
