import type { CreatedFrame } from '../../../core/frames/frame.ts';
import type { GatewayMetrics } from '../metrics.ts';
import { type FormOfAudience, inForm, nameOf } from './forms.ts';
import { OwnTopics } from './own-topics.ts';
import { type Broadcast, type ReaderAudience, topics } from './reader.ts';

/** The part of the server that publishes. */
export interface Publisher {
  numSubscribers(topic: string): number;
  publish(topic: string, bytes: Buffer, isBinary: boolean): unknown;
}

/** A session that lost a published frame. */
export interface Gapped {
  silence(): void;
  closeDropped(): void;
}

/**
 * The only way onto topics. uWS skips a socket over maxBackpressure and goes on with the next
 * frame, which would leave a gap that its client cannot see. So a socket that lost a frame gets
 * nothing that is published after it. uWS reports the loss by `dropped`, inside its own list of
 * subscribers, where changing a socket's topics or closing it is a use after free. Both are done
 * before the next publish, or in the next turn of the loop at the latest. (uWS itself skips the
 * rest of the same batch for that socket.)
 */
export class Fanout {
  readonly #publisher: Publisher;
  readonly #metrics: GatewayMetrics;
  readonly #ownTopics: OwnTopics;
  /** The forms that any socket of this node has had so far, by name. */
  readonly #forms = new Map<string, FormOfAudience>();
  #gapped: Gapped[] = [];
  #loud = 0;
  #created = SAMPLED - 1;

  constructor(publisher: Publisher, metrics: GatewayMetrics, ownTopics: OwnTopics = new OwnTopics()) {
    this.#publisher = publisher;
    this.#metrics = metrics;
    this.#ownTopics = ownTopics;
  }

  /** Must be called before a socket of this form joins topics. */
  addForm({ version, hidden }: FormOfAudience): void {
    const form = { version, hidden };
    this.#forms.set(nameOf(form), form);
  }

  readonly broadcast: Broadcast = (kind, frame) => {
    if (frame.kind === 'created') this.#sampleDelay(frame);
    const { stream, team, customer } = frame;
    if (team !== undefined) this.#publish(kind, stream, 'team', team);
    if (customer !== undefined) this.#publish(kind, stream, 'customer', customer);
  };

  /**
   * Observes every sixteenth message, against its time of writing in Postgres. That is another
   * clock: the figure means something only if nodes and Postgres agree on the time.
   */
  #sampleDelay({ updatedAtUs }: CreatedFrame): void {
    this.#created += 1;
    // prom-client throws on NaN, and a frame comes from another node.
    if (this.#created % SAMPLED !== 0 || !(updatedAtUs > 0)) return;
    const seconds = Date.now() / 1_000 - updatedAtUs / 1_000_000;
    this.#metrics.deliverySeconds.observe(Math.max(0, seconds));
  }

  /**
   * Derives a form only if a socket here has it. Does not keep it as `bytesFor`
   * does: few frames are sent again, and an entry for each costs three times what the cut does.
   */
  #publish(kind: keyof typeof topics, stream: string, audience: ReaderAudience, newest: Buffer): void {
    this.#metrics.framesDelivered.inc();
    for (const form of this.#forms.values()) {
      if (this.#loud > 0) this.#silence();
      const topic = topics[kind](stream, { audience, ...form });
      const hasSockets = this.#publisher.numSubscribers(topic) > 0;
      const hasOthers = this.#ownTopics.numSubscribers(topic) > 0;
      if (!hasSockets && !hasOthers) continue;
      const bytes = inForm(newest, form);
      if (bytes === undefined) continue;
      if (hasSockets) this.#publisher.publish(topic, bytes, false);
      if (hasOthers) this.#ownTopics.publish(topic, bytes);
    }
  }

  /** May be called inside uWS's `dropped`. */
  gapped(session: Gapped): void {
    if (this.#gapped.length === 0) setImmediate(this.#finish);
    this.#gapped.push(session);
    this.#loud += 1;
  }

  #silence(): void {
    for (const session of this.#gapped.slice(-this.#loud)) session.silence();
    this.#loud = 0;
  }

  readonly #finish = (): void => {
    const gapped = this.#gapped;
    this.#gapped = [];
    this.#loud = 0;
    for (const session of gapped) session.closeDropped();
  };
}

const SAMPLED = 16;
