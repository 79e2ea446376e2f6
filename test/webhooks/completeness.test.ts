/** Random histories of messages and deliveries: the claimed deliveries against a slow recount. */

import type { DeliveryStatus } from '@parley/protocol/resources/webhook-delivery.ts';
import t from 'tap';
import { Rights } from '../../src/api/access/rights.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { readSentMessages } from '../../src/core/messages/rows/message-store.ts';
import { insertMessages } from '../../src/core/messages/timeline/insert-store.ts';
import { insertVoids } from '../../src/core/messages/timeline/timeline-store.ts';
import { withParts } from '../../src/core/resources/message.ts';
import { Completeness } from '../../src/features/webhooks/completeness.ts';
import type { Deliverer } from '../../src/features/webhooks/deliverer.ts';
import { addDeliveries, pending } from '../../src/features/webhooks/delivery-store.ts';
import { readListeningWebhooks } from '../../src/features/webhooks/listening-webhooks.ts';
import { EventRecorder } from '../../src/features/webhooks/record-events.ts';
import { advanceReplays, requestReplay } from '../../src/features/webhooks/replays.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { NO_FILES } from '../support/files.ts';
import { Random } from '../support/random.ts';
import { createGround, log, newMessage } from '../support/timeline.ts';
import { addWebhook } from './webhook.ts';

const HISTORIES = 10;
const STEPS = 50;
/** A page that holds every conversation. */
const PAGE = { direction: 'next', after: null, fetch: 100, search: null } as const;

const ground = await createGround(t);
const { database, accountId, authorId } = ground;
const rights = await Rights.open(new MemoryEngine());
t.teardown(() => rights.close());
const directory = new ConversationDirectory(database, rights);
const settle = async () => true;
const completeness = new Completeness({ database, timeline: { settle }, log });

/** A number of a conversation. */
interface Place {
  readonly conversationId: string;
  readonly sequence: number;
  state: 'open' | 'hole' | 'void' | 'sent' | 'purged';
  readonly id: string;
  /** By the clock of Postgres, right after the commit. */
  committedBy: string;
  outboxId: number | undefined;
  /** By webhook: what became of the delivery; absent: there is none. */
  readonly deliveries: Map<string, { status: DeliveryStatus; wasDelivered: boolean; id: string }>;
  /** Ends a transaction that is under way. */
  end?: (commits: boolean) => Promise<void>;
}

class History {
  readonly problems: string[] = [];
  readonly #random: Random;
  readonly #places: Place[] = [];
  readonly #conversations: readonly string[];
  readonly #webhooks: readonly { readonly id: string; readonly includeDirect: boolean }[];
  readonly #recorder: EventRecorder;
  readonly #through = new Map<string, number>();
  readonly #allThrough = new Map<string, string>();

  static async begin(seed: number): Promise<History> {
    const conversations: string[] = [];
    for (const type of ['group', 'group', 'direct_message'] as const) {
      const { conversation } = await database.transaction((tx) =>
        createConversation(tx, { accountId, type, title: null, participants: [] }),
      );
      conversations.push(conversation.id);
    }
    const webhooks: { id: string; includeDirect: boolean }[] = [];
    for (const includeDirect of [false, true]) {
      const owner = { accountId, actorId: authorId };
      webhooks.push({ id: await addWebhook(database, owner, { includeDirect }), includeDirect });
    }
    await database.pool.query('DELETE FROM outbox');
    const listening = await readListeningWebhooks(database);
    const own = listening.get(accountId)!.filter(({ id }) => webhooks.some((webhook) => webhook.id === id));
    return new History(new Random(seed), conversations, webhooks, new Map([[accountId, own]]));
  }

  private constructor(
    random: Random,
    conversations: readonly string[],
    webhooks: readonly { readonly id: string; readonly includeDirect: boolean }[],
    listening: Awaited<ReturnType<typeof readListeningWebhooks>>,
  ) {
    this.#random = random;
    this.#conversations = conversations;
    this.#webhooks = webhooks;
    const listeners = { found: { webhooks: listening } };
    const deliverer: Pick<Deliverer, 'deliver'> = { deliver: (tries) => this.#deliver(tries) };
    this.#recorder = new EventRecorder({ database, files: NO_FILES, directory, listeners, deliverer });
  }

  async step(): Promise<void> {
    const steps = [
      () => this.#send(),
      () => this.#send(),
      () => this.#beginSend(),
      () => this.#endSend(),
      () => this.#void(),
      () => this.#record(),
      () => this.#record(),
      () => this.#record(),
      () => this.#endTry(),
      () => this.#endTry(),
      () => this.#replay(),
      () => this.#purge(),
    ];
    await this.#random.pick(steps)();
  }

  /** Everything is safe to claim now; and what is not held up by anything is claimed. */
  async check(): Promise<void> {
    for (const webhook of this.#webhooks) {
      const allThrough = await completeness.allThrough(webhook.id);
      if (allThrough < (this.#allThrough.get(webhook.id) ?? '')) this.problems.push('all_through went back');
      this.#allThrough.set(webhook.id, allThrough);
      for (const place of this.#places) {
        if (place.state === 'sent' && !this.#isDone(webhook, place) && place.committedBy <= allThrough) {
          this.problems.push(`all_through ${allThrough} is past number ${place.sequence}`);
        }
      }
      const rows = await completeness.page(webhook.id, PAGE);
      for (const { conversation_id, through_sequence: through, head } of rows) {
        const places = this.#placesOf(conversation_id);
        const firstOpen = places.find((place) => !this.#isDone(webhook, place));
        const expected = firstOpen === undefined ? head : firstOpen.sequence - 1;
        const key = `${webhook.id} ${conversation_id}`;
        // What was claimed stays true: a later purge or hole does not take it back.
        if (through !== Math.max(expected, this.#through.get(key) ?? 0)) {
          this.problems.push(`claims ${through} of ${head}, ${expected} can be proven`);
        }
        this.#through.set(key, through);
      }
      for (const conversationId of this.#conversations) {
        const hasDelivery = this.#placesOf(conversationId).some(({ deliveries }) =>
          deliveries.has(webhook.id),
        );
        const isListed = rows.some((row) => row.conversation_id === conversationId);
        if (hasDelivery && !isListed) this.problems.push(`a conversation with deliveries is not listed`);
      }
    }
  }

  /** Brings everything to its end: every claim is then complete. */
  async finish(): Promise<void> {
    for (const place of this.#places) {
      if (place.end !== undefined) await place.end(true);
      if (place.state === 'hole') await this.#void(place);
    }
    while (this.#places.some(({ outboxId }) => outboxId !== undefined)) await this.#record(false);
    for (const place of this.#places) {
      for (const [webhookId, delivery] of place.deliveries) {
        if (delivery.status !== 'withdrawn') await this.#setStatus(webhookId, delivery, 'delivered');
      }
    }
    const before = await now();
    await this.check();
    for (const { id } of this.#webhooks) {
      if ((await completeness.allThrough(id)) < before)
        this.problems.push('all_through does not get through');
      const open = (await completeness.page(id, PAGE)).filter((row) => row.through_sequence < row.head);
      if (open.length > 0) this.problems.push(`at the end ${JSON.stringify(open)}`);
    }
  }

  /** Whether this number holds up no claim about the webhook. */
  #isDone(
    { id, includeDirect }: { readonly id: string; readonly includeDirect: boolean },
    place: Place,
  ): boolean {
    if (place.state === 'void' || place.state === 'purged') return !this.#isUndone(id, place);
    if (place.state !== 'sent') return false;
    if (place.outboxId !== undefined) return false;
    if (place.conversationId === this.#conversations[2] && !includeDirect) return true;
    return !this.#isUndone(id, place);
  }

  #isUndone(webhookId: string, place: Place): boolean {
    const delivery = place.deliveries.get(webhookId);
    if (delivery === undefined || delivery.wasDelivered) return false;
    return delivery.status === 'pending' || delivery.status === 'failed';
  }

  #placesOf(conversationId: string): Place[] {
    return this.#places.filter((place) => place.conversationId === conversationId);
  }

  #next(state: Place['state']): Place {
    const conversationId = this.#random.pick(this.#conversations);
    const sequence = (this.#placesOf(conversationId).at(-1)?.sequence ?? 0) + 1;
    const { id } = newMessage(ground);
    const place: Place = {
      conversationId,
      sequence,
      state,
      id,
      committedBy: '',
      outboxId: undefined,
      deliveries: new Map(),
    };
    this.#places.push(place);
    return place;
  }

  #row(place: Place) {
    const { id, conversationId: conversation_id, sequence } = place;
    return [{ message: newMessage(ground, { id, conversation_id }), sequence }];
  }

  async #send(): Promise<void> {
    const place = this.#next('sent');
    const [inserted] = await insertMessages(database.writers[0]!, this.#row(place));
    place.outboxId = inserted!.outboxId;
    place.committedBy = await now();
  }

  async #beginSend(): Promise<void> {
    if (this.#places.filter(({ end }) => end !== undefined).length >= 3) return;
    const place = this.#next('open');
    const began = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<boolean>();
    const done = database
      .transaction(async (tx) => {
        const [inserted] = await insertMessages(tx, this.#row(place));
        place.outboxId = inserted!.outboxId;
        began.resolve();
        if (!(await gate.promise)) throw new Error('given up');
      })
      .then(
        () => 'sent' as const,
        () => 'hole' as const,
      );
    await began.promise;
    place.end = async (commits) => {
      delete place.end;
      gate.resolve(commits);
      place.state = await done;
      if (place.state === 'hole') place.outboxId = undefined;
      else place.committedBy = await now();
    };
  }

  async #endSend(): Promise<void> {
    await this.#places.find(({ end }) => end !== undefined)?.end?.(this.#random.below(3) > 0);
  }

  async #void(place = this.#places.find(({ state }) => state === 'hole')): Promise<void> {
    if (place === undefined) return;
    const { conversationId, sequence } = place;
    await insertVoids(database, [{ conversationId, sequence }]);
    place.state = 'void';
  }

  /** Handles an outbox row. A node that is killed afterwards leaves the row to the next one. */
  async #record(mayBeKilled = true): Promise<void> {
    const place = this.#places.find(({ outboxId, end }) => outboxId !== undefined && end === undefined);
    if (place === undefined) return;
    const messages = await withParts(database, NO_FILES, await readSentMessages(database, [place.id]));
    const isRepeated = place.deliveries.size > 0 || this.#random.below(2) === 0;
    await this.#recorder.sent(messages, isRepeated);
    const { rows } = await database.pool.query(
      'SELECT webhook_id, id, status, was_delivered FROM webhook_deliveries WHERE resource_id = $1',
      [place.id],
    );
    for (const { webhook_id, id, status, was_delivered: wasDelivered } of rows) {
      place.deliveries.set(webhook_id, { id, status, wasDelivered });
    }
    if (mayBeKilled && this.#random.below(4) === 0) return;
    await database.pool.query('DELETE FROM outbox WHERE id = $1', [place.outboxId]);
    place.outboxId = undefined;
  }

  async #deliver(tries: Parameters<Deliverer['deliver']>[0]): Promise<void> {
    const statuses: readonly DeliveryStatus[] = ['delivered', 'delivered', 'pending', 'failed'];
    await addDeliveries(
      database,
      tries.map(({ delivery }) => ({
        delivery,
        state: { ...pending(0), status: this.#random.pick(statuses) },
      })),
    );
  }

  /** The end of a try, or of a redelivery of what had failed. */
  async #endTry(): Promise<void> {
    const open = this.#places.flatMap(({ deliveries }) =>
      [...deliveries].filter(([, { status }]) => status === 'pending' || status === 'failed'),
    );
    if (open.length === 0) return;
    const [webhookId, delivery] = this.#random.pick(open);
    const statuses: readonly DeliveryStatus[] = ['delivered', 'delivered', 'failed', 'withdrawn'];
    await this.#setStatus(webhookId, delivery, this.#random.pick(statuses));
  }

  async #setStatus(
    webhookId: string,
    delivery: { status: DeliveryStatus; readonly id: string },
    status: DeliveryStatus,
  ): Promise<void> {
    await database.pool.query(
      'UPDATE webhook_deliveries SET status = $3, next_try_at = NULL WHERE webhook_id = $1 AND id = $2',
      [webhookId, delivery.id, status],
    );
    delivery.status = status;
  }

  async #replay(): Promise<void> {
    const { id: webhookId } = this.#random.pick(this.#webhooks);
    await database.transaction((tx) => requestReplay(tx, webhookId, 0));
    await advanceReplays(database, 1_000);
    for (const { deliveries } of this.#places) {
      const delivery = deliveries.get(webhookId);
      if (delivery === undefined || delivery.status === 'withdrawn') continue;
      delivery.wasDelivered ||= delivery.status === 'delivered';
      delivery.status = 'pending';
    }
  }

  /**
   * A retention policy removes the first messages of a conversation; what was to be sent of them
   * finds nothing.
   */
  async #purge(): Promise<void> {
    const places = this.#placesOf(this.#random.pick(this.#conversations));
    const first = places.slice(0, 3);
    if (first.some(({ state, outboxId }) => state === 'open' || state === 'hole' || outboxId !== undefined))
      return;
    const last = first.at(-1);
    if (last === undefined) return;
    const values = [last.conversationId, last.sequence];
    await database.pool.query('DELETE FROM messages WHERE conversation_id = $1 AND sequence <= $2', values);
    await database.pool.query(
      'UPDATE conversations SET purged_through = greatest(purged_through, $2) WHERE id = $1',
      values,
    );
    for (const place of first) place.state = 'purged';
  }
}

async function now(): Promise<string> {
  const { rows } = await database.pool.query('SELECT clock_timestamp() AS at');
  return rows[0].at;
}

t.test(
  'no history makes a claim that a recount does not find true, and all is claimed in the end',
  async (t) => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const history = await History.begin(seed);
      for (let step = 0; step < STEPS; step++) {
        await history.step();
        if (step % 5 === 4) await history.check();
      }
      await history.finish();
      if (history.problems.length > 0) {
        t.strictSame(history.problems, [], `seed ${seed}`);
        return;
      }
    }
    t.pass(`${HISTORIES} histories`);
  },
);
