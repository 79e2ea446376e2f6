import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import type {
  DeclaredStatus,
  Presence as PresenceData,
  PresenceStatus,
} from '@parley/protocol/resources/activity.ts';
import type { NamedByEvent } from '@parley/protocol/resources/actor.ts';
import type { Engine } from '../../../core/frames/engine.ts';
import type {
  EphemeralFrame,
  PieceFrame,
  PresenceFrame,
  PresenceReport,
  PresentActor,
} from '../../../core/frames/frame.ts';
import { toEphemeralFrame } from '../../../core/frames/publish.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import { bytesFor } from '../stream/forms.ts';
import type { StreamPresence } from '../stream/open-stream.ts';
import type { Reader } from '../stream/reader.ts';
import { ConversationPresence, type Declared } from './conversation-presence.ts';

export interface PresenceOptions {
  readonly engine: Pick<Engine, 'nodeId' | 'publish'>;
  /** Milliseconds that an actor counts after its last socket closed, and a node's last report. */
  readonly holdMs: number;
  /** Sends an event to the team's readers here; returns false if the conversation has none. */
  readonly deliver: (conversationId: string, event: EphemeralFrame | PieceFrame) => boolean;
  readonly onError: (error: unknown) => void;
}

/**
 * Presence of actors (docs/realtime.md#events), over the engine alone. Each node reports on a
 * conversation's channel which actors have sockets on it: the whole list, when it changes, when a
 * node that begins to listen asks, and at intervals. So the next report makes up for a lost one,
 * and the actors of a killed node are offline when its last report expires. Every node makes the
 * events for its own readers from the reports.
 *
 * A socket is present in the conversations that it subscribes to. One that never sends `presence`
 * has none and costs nothing here.
 */
export class Presence implements StreamPresence {
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

  /** Sets the status of a socket's actor in the conversations that it follows now or later. */
  declare(
    reader: Reader,
    { id: actorId, external_id }: NamedByEvent,
    status: DeclaredStatus,
    conversationIds: Iterable<string>,
    isShownIn: Declared['isShownIn'] = () => true,
  ): void {
    const known = this.#declared.get(reader);
    if (known?.status === status) return;
    const declared = known ?? { actorId, externalId: external_id ?? undefined, status, isShownIn };
    declared.status = status;
    this.#declared.set(reader, declared);
    for (const id of conversationIds) this.#enter(id, reader, declared);
  }

  /** Must be called when this node begins to listen: asks the other nodes for reports. */
  opened(conversationId: string): void {
    this.#publish(conversationId, {
      asks: true,
      present: this.#conversations.get(conversationId)?.presence.own() ?? [],
    });
  }

  closed(conversationId: string): void {
    const known = this.#conversations.get(conversationId);
    known?.presence.forgetOthers();
    if (known?.presence.empty === true) this.#conversations.delete(conversationId);
  }

  /** Call it when a reader joins the ephemeral topic: it gets the statuses, then counts itself. */
  entered(conversationId: string, reader: Reader): void {
    const known = this.#conversations.get(conversationId);
    if (known !== undefined) {
      for (const [actorId, status] of known.presence.published()) {
        if (status !== 'offline') send(reader, eventOf(conversationId, known, actorId, status));
      }
      // The first reader here finds no earlier report.
      this.#touch(conversationId);
    }
    const declared = this.#declared.get(reader);
    if (declared !== undefined) this.#enter(conversationId, reader, declared);
  }

  left(conversationId: string, reader: Reader): void {
    const untilMs = performance.now() + this.#options.holdMs;
    if (this.#conversations.get(conversationId)?.presence.leave(reader, untilMs) === true)
      this.#touch(conversationId);
  }

  /**
   * Call it when what readers may know changed: the actor of a reader is shown or hidden at once.
   */
  review(conversationId: string, reader: Reader): void {
    const declared = this.#declared.get(reader);
    if (declared === undefined) return;
    const presence = this.#conversations.get(conversationId)?.presence;
    const isIn = presence?.has(reader) === true;
    if (isIn === declared.isShownIn(conversationId)) return;
    if (isIn) {
      presence.hide(reader);
      this.#touch(conversationId);
    } else this.#enter(conversationId, reader, declared);
  }

  /** Repeats all statuses, including `offline`, for a reader whose events were withheld. */
  repeat(conversationId: string, reader: Reader): void {
    const known = this.#conversations.get(conversationId);
    if (known === undefined) return;
    for (const [actorId, status] of known.presence.published()) {
      send(reader, eventOf(conversationId, known, actorId, status));
    }
  }

  /** Never throws. */
  onReport(conversationId: string, { nodeId, report }: PresenceFrame): void {
    if (nodeId === this.#options.engine.nodeId || report === undefined) return;
    if (report.present.length > 0 || this.#conversations.get(conversationId) !== undefined) {
      const { presence } = this.#open(conversationId);
      presence.update(nodeId, report.present, performance.now() + this.#options.holdMs);
      this.#touch(conversationId);
    }
    const known = this.#conversations.get(conversationId);
    if (!report.asks || known === undefined || known.published === NOTHING) return;
    known.published = ASKED_FOR;
    this.#touch(conversationId);
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
    if (!declared.isShownIn(conversationId)) return;
    this.#open(conversationId).presence.enter(reader, declared);
    this.#touch(conversationId);
  }

  /** Gathers changes briefly: a thousand sockets that come at once are one report. */
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

  /** Sends the other nodes and the readers here the statuses that they lack. */
  #settle(conversationId: string): void {
    const known = this.#conversations.get(conversationId);
    if (known === undefined) return;
    const own = known.presence.own();
    if (JSON.stringify(own) !== known.published) this.#announce(conversationId, known, own);
    for (const [actorId, status] of known.presence.news()) {
      if (this.#options.deliver(conversationId, eventOf(conversationId, known, actorId, status))) continue;
      known.presence.forgetPublished();
      break;
    }
    if (known.presence.empty) this.#conversations.delete(conversationId);
  }

  #round(): void {
    const nowMs = performance.now();
    const againMs = this.#options.holdMs / REPORTS_A_HOLD;
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
      // Not retried: the report is repeated soon.
      .catch(() => {});
  }
}

interface Known {
  readonly presence: ConversationPresence;
  /** The last published report, as JSON. */
  published: string;
  publishedAtMs: number;
}

/** The report of a node without actors in the conversation. */
const NOTHING = '[]';
/** Differs from every report, so that a report that a node asked for is published again. */
const ASKED_FOR = '';
const GATHER_MS = 50;
const ROUNDS_A_HOLD = 12;
/** Two reports may be lost before a node's actors count as gone. */
const REPORTS_A_HOLD = 3;

function send(reader: Reader, frame: EphemeralFrame | PieceFrame): void {
  const bytes = bytesFor(frame, reader);
  if (bytes !== undefined) reader.send(bytes);
}

function eventOf(conversationId: string, { presence }: Known, actorId: string, status: PresenceStatus) {
  return toEphemeralFrame({
    event: 'presence',
    stream: conversationId,
    conversationId,
    sequence: 0,
    resource: actorId,
    at: wireTime(Date.now()),
    team: {
      actor_id: actorId,
      status,
      external_id: presence.externalIdOf(actorId),
    } satisfies PresenceData,
  });
}
