import { newId } from '@parley/protocol/ids.ts';
import type { CustomerCard } from '@parley/protocol/resources/customer-card.ts';
import { LRUCache } from 'lru-cache';
import { signatureHeaders } from '../../core/events/receiver-signature.ts';
import type { GuardedRequest } from '../../platform/outbound/guarded-request.ts';
import { OutboundError } from '../../platform/outbound/outbound-url.ts';
import { type ReadAnswer, readAnswer } from './answer.ts';
import type { AskedCustomer } from './customer.ts';
import type { SourceRow } from './source.ts';

export interface CardsOptions {
  readonly request: GuardedRequest['fetch'];
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Milliseconds for one request. */
  readonly timeoutMs?: number;
}

/**
 * The cards of customers, as the sources of accounts answer them. A card is kept for five minutes,
 * and a failure for a short time, so that a source that is away is not asked for each case that is
 * opened. Concurrent readers of a card share one request.
 */
export class Cards {
  readonly #request: GuardedRequest['fetch'];
  readonly #now: () => number;
  readonly #timeoutMs: number;
  readonly #kept = new LRUCache<string, Kept>({ maxSize: KEPT_BYTES, sizeCalculation: ({ bytes }) => bytes });
  readonly #underWay = new Map<string, Promise<CustomerCard>>();

  constructor({ request, now = () => performance.now(), timeoutMs = TIMEOUT_MS }: CardsOptions) {
    this.#request = request;
    this.#now = now;
    this.#timeoutMs = timeoutMs;
  }

  /** Never rejects for what the source does. */
  async of(source: SourceRow, customer: AskedCustomer): Promise<CustomerCard> {
    const body = JSON.stringify(customer);
    // A change of the source or of the customer makes another card.
    const key = `${source.account_id} ${source.updated_at} ${body}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#now() < kept.untilMs) return kept.card;
    const known = this.#underWay.get(key);
    if (known !== undefined) return known;
    const asked = this.#ask(source, customer).then((card) => {
      const untilMs = this.#now() + (card.status === 'failed' ? FAILED_MS : FRESH_MS);
      this.#kept.set(key, { card, untilMs, bytes: key.length + JSON.stringify(card).length });
      return card;
    });
    this.#underWay.set(key, asked);
    try {
      return await asked;
    } finally {
      this.#underWay.delete(key);
    }
  }

  async #ask(source: SourceRow, customer: AskedCustomer): Promise<CustomerCard> {
    const at = new Date();
    const found = await this.#answerOf(source, customer, at);
    const { title = null, fields = [], error = null, detail = null } = found;
    return {
      object: 'customer_card',
      customer_id: customer.customer_id,
      status: found.status,
      title,
      fields: [...fields],
      error,
      detail,
      read_at: at.toISOString().replace('Z', '000Z'),
    };
  }

  async #answerOf(source: SourceRow, customer: AskedCustomer, at: Date): Promise<ReadAnswer> {
    const body = JSON.stringify({
      type: 'customer_card.requested',
      timestamp: at.toISOString(),
      data: customer,
    });
    const signed = { id: newId('event'), timestamp: Math.floor(at.getTime() / 1_000), body };
    const limit = AbortSignal.timeout(this.#timeoutMs);
    try {
      const response = await this.#request(source.url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          Accept: 'application/json',
          ...signatureHeaders(source, signed),
        },
        body,
        signal: limit,
      });
      return await readAnswer(response);
    } catch (error) {
      if (limit.aborted) return { status: 'failed', error: 'timeout' };
      if (!(error instanceof OutboundError)) throw error;
      if (error.condition === 'timeout') return { status: 'failed', error: 'timeout' };
      // A refused address looks like an unknown host; otherwise anyone could probe the DNS.
      const isOdd = error.condition === 'external_service_error';
      return { status: 'failed', error: isOdd ? 'invalid_response' : 'connection_error' };
    }
  }
}

interface Kept {
  readonly card: CustomerCard;
  readonly untilMs: number;
  readonly bytes: number;
}

const TIMEOUT_MS = 3_000;
const FRESH_MS = 5 * 60_000;
const FAILED_MS = 15_000;
/** Of all cards of this node. */
const KEPT_BYTES = 8 * 1024 * 1024;
