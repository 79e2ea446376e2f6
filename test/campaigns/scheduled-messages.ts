import { randomUUID } from 'node:crypto';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { historyProblems } from '../support/check-delivery.ts';
import type { TestNode } from '../support/node.ts';
import type { Random } from '../support/random.ts';
import { SocketClient } from '../support/socket-client.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import type { VersionPair } from '../support/version-pair.ts';

/** A message accepted for a time. */
interface Planned {
  readonly id: string;
  readonly conversationId: string;
  readonly token: string;
  /** The last acknowledged text. */
  body: string;
  isCanceled: boolean;
}

/** Counts of acknowledged requests. */
export interface ScheduledCounts {
  scheduled: number;
  edited: number;
  putOff: number;
  canceled: number;
  sentNow: number;
}

/** Messages in groups of ada and grace that become due, and two clients that read all of them. */
export class ScheduledMessages {
  readonly counts: ScheduledCounts = { scheduled: 0, edited: 0, putOff: 0, canceled: 0, sentNow: 0 };
  readonly problems: string[] = [];
  readonly conversationIds: readonly string[];
  readonly #pair: VersionPair;
  readonly #random: Random;
  readonly #planned: Planned[] = [];
  readonly #far: Planned[] = [];
  /** Ids of the messages that somebody asked to send at once. */
  readonly #sentNow = new Set<string>();
  readonly #readers: readonly SocketClient[];

  static async open(t: Teardown, pair: VersionPair, random: Random): Promise<ScheduledMessages> {
    const { ada, grace, vera } = pair.demo.users;
    const participants = [ada, grace, vera].map(({ id }) => ({ type: 'user', actor_id: id }));
    const ids: string[] = [];
    for (let n = 0; n < CONVERSATIONS; n++) {
      ids.push(
        await pair.made('/v1/messaging/conversations', { type: 'group', title: `Due ${n}`, participants }),
      );
    }
    const messages = new ScheduledMessages(pair, random, ids);
    t.teardown(() => {
      for (const reader of messages.#readers) reader.stop();
    });
    return messages;
  }

  private constructor(pair: VersionPair, random: Random, conversationIds: readonly string[]) {
    this.#pair = pair;
    this.#random = random;
    this.conversationIds = conversationIds;
    let known = pair.pick()!;
    const address = () => {
      known = pair.pick() ?? known;
      const { 'Content-Type': _, ...headers } = known.headers(pair.demo.users.vera.access_token);
      return { url: `${known.baseUrl.replace('http', 'ws')}/v1/realtime`, headers };
    };
    this.#readers = Array.from({ length: 2 }, () => new SocketClient({ address, conversationIds, random }));
  }

  /** Ids of the messages that must be in the timeline in the end. */
  get expectedIds(): string[] {
    return this.#planned.filter(({ isCanceled }) => !isCanceled).map(({ id }) => id);
  }

  /** Schedules a message, mostly within `withinMs` from now, sometimes for a day later. */
  async schedule(withinMs: number): Promise<void> {
    const { ada, grace } = this.#pair.demo.users;
    const { access_token: token } = this.#random.pick([ada, grace]);
    const conversationId = this.#random.pick(this.conversationIds);
    const place = this.#random.below(20);
    const isFar = place < 3;
    const inMs = isFar
      ? DAY_MS
      : SOON_MS + this.#random.below(place < 14 ? 15_000 : Math.max(15_000, withinMs));
    const body = `scheduled ${this.counts.scheduled++}`;
    const fields = { body, client_message_id: randomUUID() };
    const { id } = await this.#pair.accepted(
      'POST',
      `/v1/messaging/conversations/${conversationId}/messages`,
      { token, keyed: false, body: () => ({ ...fields, scheduled_at: after(inMs) }) },
    );
    const planned = { id: String(id), conversationId, token, body, isCanceled: false };
    this.#planned.push(planned);
    if (isFar) this.#far.push(planned);
  }

  /** Changes any message, as late as when it is due; an ended message refuses it. */
  async change(): Promise<void> {
    if (this.#planned.length === 0) return;
    const planned = this.#random.pick(this.#planned.slice(-RECENT));
    await this.#random.pick([
      () => this.#edit(planned),
      () => this.#putOff(planned),
      () => this.#cancel(planned),
      () => this.#sendNow(planned),
    ])();
  }

  /** Sends the messages that wait for a day, after a check that they still wait. */
  async bringForward(): Promise<void> {
    for (const planned of this.#far) {
      const { status } = await this.#pair.accepted('GET', `/v1/messaging/messages/${planned.id}`);
      if (status !== 'scheduled') continue;
      if (this.#random.below(2) === 0) await this.#sendNow(planned);
      else await this.#putOff(planned);
    }
  }

  /** Waits at most `timeoutMs` for all messages to end; the checks tell which have not. */
  async settle(node: TestNode, timeoutMs: number): Promise<void> {
    const isThere = async () => {
      const sent = new Set((await this.#history(node)).map(({ id }) => id));
      return this.expectedIds.every((id) => sent.has(id));
    };
    await until(isThere, { what: 'every scheduled message', timeoutMs }).catch(() => undefined);
  }

  /** Returns what does not hold, and the ms from the requested time to the timeline. */
  async check(node: TestNode): Promise<{ lost: number; twice: number; sent: number; lateMs: number[] }> {
    const timeline = await this.#history(node);
    const history = timeline.filter(({ kind }) => kind === 'scheduled');
    const byText = Map.groupBy(history, ({ body }) => body?.replace(EDITED, ''));
    let lost = 0;
    for (const { id, body, isCanceled } of this.#planned) {
      const text = body.replace(EDITED, '');
      const sent = byText.get(text) ?? [];
      const message = sent.find((one) => one.id === id);
      byText.set(text, message === undefined ? sent : sent.toSpliced(sent.indexOf(message), 1));
      if (isCanceled && sent.length > 0) this.problems.push(`${id} was canceled and sent`);
      if (isCanceled || message?.body === body) continue;
      if (message !== undefined) this.problems.push(`${id} says “${message.body}”, not “${body}”`);
      else {
        lost += 1;
        const { status, scheduled_at } = await this.#pair.accepted('GET', `/v1/messaging/messages/${id}`);
        this.problems.push(`${id}, due ${scheduled_at}, is ${status}`);
      }
    }
    const more = [...byText.values()].flat();
    for (const { id, body } of more) this.problems.push(`${id} is “${body}” once more`);
    const lateMs = history.map(
      ({ sent_at, scheduled_at }) => Date.parse(sent_at!) - Date.parse(scheduled_at!),
    );
    await this.#checkReaders(timeline);
    return { lost, twice: more.length, sent: history.length, lateMs: this.#measurable(history, lateMs) };
  }

  /** Leaves out the messages that were sent before their time on request. */
  #measurable(history: readonly ChatMessage[], lateMs: readonly number[]): number[] {
    const asked = this.#sentNow;
    const early = history.filter(({ id }, index) => lateMs[index]! < 0 && !asked.has(id));
    if (early.length > 0) this.problems.push(`${early.length} were early, such as ${early[0]!.id}`);
    const late = history.filter((_, index) => lateMs[index]! > PATIENCE_MS);
    if (late.length > 0) this.problems.push(`${late.length} were late by minutes, such as ${late[0]!.id}`);
    return lateMs.filter((_, index) => !asked.has(history[index]!.id)).sort((a, b) => a - b);
  }

  async #checkReaders(timeline: readonly ChatMessage[]): Promise<void> {
    for (const conversationId of this.conversationIds) {
      const stored = timeline
        .filter((one) => one.conversation_id === conversationId)
        .map(({ sequence, id }) => ({ sequence: sequence!, id }));
      const last = stored.at(-1)?.sequence ?? 0;
      for (const [index, reader] of this.#readers.entries()) {
        await until(() => reader.last(conversationId) >= last, { what: `reader ${index}` }).catch(
          () => undefined,
        );
        const got = reader.history.get(conversationId)!;
        this.problems.push(...historyProblems(got, stored).map((problem) => `reader ${index}: ${problem}`));
      }
    }
    for (const reader of this.#readers) this.problems.push(...reader.problems);
  }

  /** Returns every message of the timelines, in order. */
  async #history(node: TestNode): Promise<ChatMessage[]> {
    const pages: ChatMessage[] = [];
    for (const id of this.conversationIds) {
      pages.push(...((await node.page(id)) as readonly object[] as ChatMessage[]));
    }
    return pages;
  }

  async #edit(planned: Planned): Promise<void> {
    const body = EDITED.test(planned.body) ? planned.body : `${planned.body} edited`;
    if (!(await this.#changed(planned, 'PATCH', '', () => ({ body })))) return;
    planned.body = body;
    this.counts.edited += 1;
  }

  async #putOff(planned: Planned): Promise<void> {
    const inMs = SOON_MS + this.#random.below(8_000);
    const isDone = await this.#changed(planned, 'PATCH', '', () => ({ scheduled_at: after(inMs) }));
    if (isDone) this.counts.putOff += 1;
  }

  async #cancel(planned: Planned): Promise<void> {
    if (!(await this.#changed(planned, 'POST', '/actions/cancel'))) return;
    if (!planned.isCanceled) this.counts.canceled += 1;
    planned.isCanceled = true;
  }

  async #sendNow(planned: Planned): Promise<void> {
    this.#sentNow.add(planned.id);
    if (await this.#changed(planned, 'POST', '/actions/send-now')) this.counts.sentNow += 1;
  }

  /** Resolves to false if it was too late, which is an honest answer. */
  async #changed(
    { id, token }: Planned,
    method: string,
    action: string,
    body?: () => object,
  ): Promise<boolean> {
    const { status, body: answer } = await this.#pair.ask(
      method,
      `/v1/messaging/messages/${id}${action}`,
      // A repetition finds what the attempt without an answer has done.
      { token, keyed: false, ...(body !== undefined && { body }) },
    );
    if (status >= 400 && ![409, 410].includes(status)) {
      this.problems.push(`${method} ${action} of ${id} is answered ${status}: ${JSON.stringify(answer)}`);
    }
    return status < 300;
  }
}

const EDITED = / edited$/;
const CONVERSATIONS = 4;
/** Changes concern one of the last scheduled messages. */
const RECENT = 30;
/** Longer than a request takes on a machine with a load of ten tasks a core. */
const SOON_MS = 5_000;
/** A node that dies takes a lease of a minute with it, and the next one takes seconds to begin. */
const PATIENCE_MS = 180_000;
const DAY_MS = 86_400_000;

function after(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}
