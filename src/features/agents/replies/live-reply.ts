import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import type { IncompleteReason } from '@parley/protocol/resources/agent-run.ts';
import type { MessageDelta, MessageReset, MessageSnapshot } from '@parley/protocol/socket/event-data.ts';
import type { ConversationFacts } from '../../../core/conversations/directory/directory.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { Frame } from '../../../core/frames/frame.ts';
import { publish, snapshotFrame, type TextEvent } from '../../../core/frames/publish.ts';
import type { TextPosition } from '../../../core/frames/text-position.ts';
import { type NewMessage, TEXT_ALONE } from '../../../core/messages/rows/new-message.ts';
import { allMentions } from '../../../core/messages/rules/mentions.ts';
import type { WritePath } from '../../../core/messages/timeline/write-path.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { isUnavailable } from '../../../platform/db/connection/unavailable.ts';
import type { Subscription } from '../../../platform/engine/engine.ts';
import { completeReply } from './complete-reply.ts';
import type { Pace } from './pace.ts';
import { PacedText, type Piece } from './paced-text.ts';
import type { AgentReply } from './reply.ts';
import { ReplyText } from './reply-text.ts';
import type { ReplyCheckpoint } from './store.ts';

/** The dependencies that the replies of a node share. */
export interface ReplyHost extends Pick<NodeParts, 'database' | 'engine'> {
  readonly writePath: Pick<WritePath, 'append'>;
  readonly pace: Pace;
  /** Forgets the reply, which needs no more frames. */
  over(reply: LiveReply): void;
}

/**
 * A reply that people read while it is written (docs/realtime.md#streamed-replies). This node owns
 * the text: it subscribes to the conversation's channel, publishes deltas once it has received its
 * own message's frame, answers snapshot requests, and closes when it receives the final frame.
 */
export abstract class LiveReply implements AgentReply {
  protected readonly host: ReplyHost;
  /** The run as this node claimed it. */
  protected readonly run: RunRow;
  protected readonly facts: ConversationFacts;
  readonly #text = new ReplyText();
  readonly #published: PacedText;
  readonly #id = newId('message');
  #opening: Promise<void> | undefined;
  #isWritten = false;
  #sequence = 0;
  #listening: Subscription | undefined;
  #forgetTimer: (() => void) | undefined;
  #kept = '';
  #isComplete = false;
  #isOver = false;

  constructor(host: ReplyHost, run: RunRow, facts: ConversationFacts) {
    this.host = host;
    this.run = run;
    this.facts = facts;
    this.#published = new PacedText(this.#text, host.pace, (piece) => this.#publishPiece(piece));
  }

  /** Inserts the empty `streaming` row unless it exists. Returns its sequence, 0 if it has none. */
  protected abstract insert(id: string): Promise<number>;

  /** The event that announces the end of the text. */
  protected abstract readonly endEvent: 'message.updated' | 'draft.updated';

  get messageId(): string | null {
    return this.#isWritten ? this.#id : null;
  }

  get body(): string {
    return this.#text.body;
  }

  get ownText(): string {
    return this.#text.ownText;
  }

  append(text: string): void {
    if (this.#isComplete) return;
    this.#text.append(text);
    this.#grown();
  }

  reset(keep: number, reason: string): void {
    if (this.#isComplete) return;
    this.#published.reset(this.#text.reset(keep), reason);
  }

  open(): void {
    if (this.#isOver || this.#opening !== undefined) return;
    this.#opening = this.#begin();
    // `settle` reports the failure.
    this.#opening.catch(() => {});
  }

  async settle(): Promise<void> {
    this.#isComplete = true;
    this.#grown();
    try {
      await this.#opening;
    } catch (error) {
      this.#opening = Promise.resolve();
      throw error;
    }
    await this.#published.drained();
  }

  async finish(tx: Tx, artifactIds: readonly string[], incomplete: IncompleteReason | null): Promise<void> {
    if (this.#opening === undefined) {
      this.#close();
      return;
    }
    const { id: runId, conversation_id, actor_id: authorId } = this.run;
    const message = { id: this.#id, conversation_id: conversation_id! };
    await completeReply(tx, message, {
      runId,
      event: this.endEvent,
      attempt: this.#text.attempt,
      body: this.body,
      mentions: allMentions(this.facts, authorId, this.body, []),
      incomplete: incomplete ?? (this.#text.isFull ? 'length' : null),
      artifactIds,
    });
    // The reply closes at its own final frame; this timer closes it if that frame never arrives.
    this.#later(FORGOTTEN_MS, () => this.#close());
  }

  abandon(): void {
    this.#isComplete = true;
    this.#close();
  }

  /** Returns the text since the last checkpoint; undefined if there is none. */
  unkept(): ReplyCheckpoint | undefined {
    const { body } = this;
    if (!this.#isWritten || body === this.#kept) return undefined;
    const { id: run_id, fence, conversation_id } = this.run;
    return { id: this.#id, conversation_id: conversation_id!, run_id, fence, body };
  }

  /** Handles lost frames of these channels (undefined: any), perhaps snapshot requests. */
  missed(channels: ReadonlySet<string> | undefined): void {
    if (channels?.has(this.run.conversation_id!) !== false) this.#repeat();
  }

  keep({ body }: ReplyCheckpoint): void {
    this.#kept = body;
  }

  /** Sets the head of the text. Called by `insert`, before any delta was published. */
  protected beginWith(head: string): void {
    this.#text.begin(head);
  }

  /** Returns the columns that all kinds of replies share. */
  protected newMessage(id: string): Omit<NewMessage, 'visibility' | 'sender_id'> {
    return {
      id,
      account_id: this.run.account_id,
      conversation_id: this.run.conversation_id!,
      kind: 'agent',
      ...TEXT_ALONE,
      body: '',
      author_id: this.run.actor_id,
      agent_run_id: this.run.id,
      streaming_state: 'streaming',
    };
  }

  #grown(): void {
    if (this.#isOver || this.body === '') return;
    this.open();
    this.#published.changed();
  }

  async #begin(): Promise<void> {
    const [sequence] = await Promise.all([this.#write(), this.#listen()]);
    this.#isWritten = true;
    this.#sequence ||= sequence;
    // The frame may be lost or late. Readers can request a snapshot, so deltas begin without it.
    this.#later(OWN_FRAME_MS, () => this.#published.begin());
  }

  /** Retries while Postgres or the counters are unavailable: the text is worth the delay. */
  async #write(): Promise<number> {
    for (let tried = 1; ; tried++) {
      try {
        return await this.insert(this.#id);
      } catch (error) {
        if (this.#isOver || tried === MAX_TRIES || !isAway(error)) throw error;
      }
      await new Promise<void>((resolve) => this.host.pace.clock.after(AGAIN_MS, resolve));
    }
  }

  /** Retries until the reply is over. Until then no node can request the text so far. */
  async #listen(isLate = false): Promise<void> {
    if (this.#isOver) return;
    try {
      const subscription = await this.host.engine.subscribe(this.run.conversation_id!, (frame) =>
        this.#onFrame(frame),
      );
      if (this.#isOver) subscription.unsubscribe();
      else this.#listening = subscription;
      // Requests that were published before the subscription were not received.
      if (isLate) this.#repeat();
    } catch {
      this.host.pace.clock.after(AGAIN_MS, () => void this.#listen(true));
    }
  }

  /** Publishes a snapshot unasked. Nodes that have all pieces ignore it. */
  #repeat(): void {
    if (this.#isWritten && !this.#isOver) this.#answer();
  }

  #onFrame(frame: Frame): void {
    if (this.#isOver) return;
    switch (frame.kind) {
      case 'ask':
        if (frame.messageId === this.#id) this.#answer();
        break;
      case 'created':
      case 'updated':
      case 'durable':
        if (frame.resource !== this.#id) return;
        this.#sequence ||= frame.sequence;
        if (frame.streaming) this.#published.begin();
        else this.#close();
    }
  }

  #answer(): void {
    const { attempt, body } = this.#published.snapshot;
    const data: MessageSnapshot = { message_id: this.#id, attempt, body };
    const event = this.#event('message.snapshot', data, { attempt, from: 0, to: body.length });
    this.host.engine.publish(event.stream, snapshotFrame(event)).catch(() => {});
  }

  /** Publishes a piece once: if it is lost, nodes see the gap and request a snapshot. */
  #publishPiece(piece: Piece): void {
    const { kind, ...fields } = piece;
    const data: MessageDelta | MessageReset = { message_id: this.#id, ...fields };
    const [from, length] = kind === 'delta' ? [piece.offset, piece.text.length] : [piece.keep, 0];
    const position = { attempt: piece.attempt, from, to: from + length };
    publish(this.host.engine, this.#event(`message.${kind}`, data, position)).catch(() => {});
  }

  #event(event: TextEvent['event'], team: object, position: TextPosition): TextEvent {
    const conversationId = this.run.conversation_id!;
    return {
      event,
      stream: conversationId,
      conversationId,
      sequence: this.#sequence,
      resource: this.#id,
      at: wireTime(Date.now()),
      team,
      position,
    };
  }

  #later(ms: number, call: () => void): void {
    if (this.#isOver) return;
    this.#forgetTimer?.();
    this.#forgetTimer = this.host.pace.clock.after(ms, call);
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#published.stop();
    this.#forgetTimer?.();
    this.#listening?.unsubscribe();
    this.host.over(this);
  }
}

const OWN_FRAME_MS = 1_000;
const FORGOTTEN_MS = 15_000;
const AGAIN_MS = 500;
const MAX_TRIES = 20;

function isAway(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof ApiError && error.condition === 'service_unavailable');
}
