import { RETAINED, type Retained } from '@parley/protocol/resources/retention-policy.ts';
import { withdrawUploads } from '../../core/attachments/uploads.ts';
import { audit } from '../../core/audit/audit.ts';
import { readAuditAge } from '../../core/audit/chain-store.ts';
import { purgeAudit } from '../../core/audit/retention.ts';
import { enqueueChanged } from '../../core/events/changes.ts';
import { allHoldings } from '../../core/features/all-holdings.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import {
  type ConversationAges,
  markFilesRemoved,
  readConversationAges,
  readDueEnd,
  readEndedIds,
} from '../../core/messages/removal/purge-store.ts';
import type { Expiring } from '../../core/resources/holdings.ts';
import { BackgroundWork } from '../../platform/background.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { pages } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { ComplianceMetrics } from './metrics.ts';
import {
  addPurged,
  NOTHING_PURGED,
  noted,
  PURGE_BATCH,
  type Purged,
  purgeOutside,
  purgePrefix,
} from './purge.ts';
import { noteSwept, type PolicyRow, readPolicies } from './retention-policy.ts';

interface SweepOptions extends Pick<NodeParts, 'database' | 'signingKey' | 'log'> {
  readonly nodeId: string;
  readonly metrics: ComplianceMetrics;
  /** Milliseconds between two sweeps. */
  readonly everyMs: number;
}

/** Conversations that one query looks at. */
const CONVERSATIONS_AT_ONCE = 500;

/** Seconds after which another node takes over a sweep whose node does not renew its claim. */
const CLAIM_S = 60;
const RENEWED_AFTER_MS = 5_000;

const SECONDS_A_DAY = 86_400;

/**
 * Purges rows older than their account's policy, on one node at a time, in transactions of
 * PURGE_BATCH rows. A conversation is purged from its start to its first kept message. The sweep
 * rests less, the more of the time until the next sweep has passed.
 */
export class RetentionSweep {
  readonly #options: SweepOptions;
  readonly #sweep: Loop;
  readonly #measure: Loop;

  constructor(options: SweepOptions) {
    this.#options = options;
    const { everyMs: intervalMs, log } = options;
    this.#sweep = new Loop({
      intervalMs,
      run: (signal) => this.sweep(signal),
      onError: (error) => log.error({ err: error }, 'retention sweep failed'),
    });
    // A separate loop, so that the metrics show a sweep that hangs.
    this.#measure = new Loop({
      intervalMs,
      run: () => this.measure(),
      onError: (error) => log.warn({ err: error }, 'measuring what is past its retention failed'),
    });
  }

  /** Sweeps now instead of after the pause. */
  wake(): void {
    this.#sweep.wake();
  }

  async close(): Promise<void> {
    await Promise.all([this.#sweep.close(), this.#measure.close()]);
  }

  /** Sweeps every account that has a policy. Returns at once if another node holds the claim. */
  async sweep(signal: AbortSignal = new AbortController().signal): Promise<void> {
    const { database, nodeId, everyMs: withinMs, log } = this.#options;
    if ((await database.query(CLAIM, nodeId)).length === 0) return;
    const work = new BackgroundWork(database.load, withinMs);
    for (const policy of await readPolicies(database)) {
      if (signal.aborted) return;
      const round = new Round(this.#options, policy, work, signal);
      try {
        await round.run();
      } catch (error) {
        // The other accounts continue.
        log.error({ err: error, account_id: policy.account_id }, 'retention sweep of an account failed');
      }
      await this.#record(policy, round);
    }
    if (!signal.aborted) await database.query(RELEASE, nodeId);
  }

  /** Sets the metrics of overdue rows and of the last sweep. */
  async measure(): Promise<void> {
    const { database, metrics } = this.#options;
    const oldest = { ...NOTHING_PURGED, audit: 0 };
    let sweptAtMs = Date.now();
    for (const policy of await readPolicies(database)) {
      await measureOldest(database, policy, oldest);
      sweptAtMs = Math.min(sweptAtMs, Date.parse(policy.swept_at ?? policy.updated_at));
    }
    for (const kind of RETAINED) metrics.retentionOldest.set({ kind }, oldest[kind]);
    metrics.retentionSwept.set(sweptAtMs / 1_000);
  }

  async #record({ account_id: accountId }: PolicyRow, { purged, audited, isWhole }: Round): Promise<void> {
    const { database, metrics, log } = this.#options;
    const counts = { ...purged, audit: audited };
    log.info({ account_id: accountId, ...counts, whole: isWhole }, 'retention sweep of an account');
    for (const [kind, count] of Object.entries(counts)) metrics.retentionRemoved.inc({ kind }, count);
    if (isWhole) await noteSwept(database, accountId);
    // Purged audit links have a checkpoint: an event for it would itself have to be purged.
    if (isNothing(purged)) return;
    await database.transaction((tx) =>
      audit(tx, {
        accountId,
        conversationId: null,
        actorId: null,
        action: 'retention.swept',
        details: counts,
      }),
    );
  }
}

const EXPIRING: readonly Expiring[] = ['files', 'notifications', 'runs'];

/** The sweep of one account. */
class Round {
  readonly #options: SweepOptions;
  readonly #policy: PolicyRow;
  readonly #work: BackgroundWork;
  readonly #signal: AbortSignal;
  purged: Purged = NOTHING_PURGED;
  /** The number of purged audit events. */
  audited = 0;
  /** Whether nothing older than the policy is left, except held or unfinished rows. */
  isWhole = false;
  #claimedAtMs = performance.now();

  constructor(options: SweepOptions, policy: PolicyRow, work: BackgroundWork, signal: AbortSignal) {
    this.#options = options;
    this.#policy = policy;
    this.#work = work;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    for await (const page of conversationsUnder(this.#options.database, this.#policy)) {
      for (const conversation of page) await this.#sweepConversation(conversation);
      if (this.#signal.aborted) return;
      await this.#breathe();
    }
    for (const kind of EXPIRING) await this.#expire(kind);
    this.isWhole = (await this.#sweepAudit()) && !this.#signal.aborted;
  }

  async #expire(kind: Expiring): Promise<void> {
    const { account_id, [`${kind}_days` as const]: days } = this.#policy;
    if (days === null) return;
    for (const { expire } of allHoldings(this.#options.database)) {
      const work = expire?.[kind];
      if (work === undefined) continue;
      await this.#purge(async (tx) => noted(tx, await work(tx, account_id, days, PURGE_BATCH)));
    }
  }

  /** Returns false if a tampered audit cannot be purged; all other purges continue. */
  async #sweepAudit(): Promise<boolean> {
    const { account_id: accountId, audit_days: days } = this.#policy;
    const { signingKey, log } = this.#options;
    if (days === null) return true;
    try {
      await this.#repeat(
        (tx) => purgeAudit(tx, signingKey, { accountId, days, limit: PURGE_BATCH }),
        (purged) => {
          this.audited += purged;
          return purged === PURGE_BATCH;
        },
      );
      return true;
    } catch (error) {
      log.error({ err: error, account_id: accountId }, 'the audit of an account is not purged');
      return false;
    }
  }

  async #sweepConversation({ id, message_age, ended_age, file_age }: ConversationAges): Promise<void> {
    const { messages_days: days, files_days: filesDays } = this.#policy;
    if (days !== null && isPast(message_age, days)) {
      await this.#purge(async (tx) => {
        const end = await readDueEnd(tx, id, days, PURGE_BATCH);
        return end === undefined ? NOTHING_PURGED : purgePrefix(tx, id, end);
      });
    }
    if (days !== null && isPast(ended_age, days)) {
      await this.#purge(async (tx) => purgeOutside(tx, id, await readEndedIds(tx, id, days, PURGE_BATCH)));
    }
    if (filesDays !== null && isPast(file_age, filesDays)) {
      await this.#repeat(
        (tx) => removeFiles(tx, id, filesDays),
        ({ files, more }) => {
          this.purged = addPurged(this.purged, { ...NOTHING_PURGED, files });
          return more;
        },
      );
    }
  }

  #purge(work: (tx: Tx) => Promise<Purged | undefined>): Promise<void> {
    return this.#repeat(work, (purged = NOTHING_PURGED) => {
      this.purged = addPurged(this.purged, purged);
      return !isNothing(purged);
    });
  }

  /** Runs transactions until `note`, called with the work of each, returns false. */
  async #repeat<Done>(work: (tx: Tx) => Promise<Done>, note: (done: Done) => boolean): Promise<void> {
    while (!this.#signal.aborted) {
      if (!note(await this.#options.database.transaction(work))) return;
      await this.#breathe();
    }
  }

  /** Rests, so that others can use the database, and renews the claim. */
  async #breathe(): Promise<void> {
    const { database, nodeId } = this.#options;
    await this.#work.rest(this.#signal);
    if (performance.now() - this.#claimedAtMs < RENEWED_AFTER_MS) return;
    this.#claimedAtMs = performance.now();
    if ((await database.query(CLAIM, nodeId)).length === 0)
      throw new Error('another node took the sweep over');
  }
}

/** Yields the conversations of an account whose content a policy covers. */
export async function* conversationsUnder(
  database: Database,
  { account_id, messages_days, files_days }: Pick<PolicyRow, 'account_id' | 'messages_days' | 'files_days'>,
): AsyncIterable<ConversationAges[]> {
  if (messages_days === null && files_days === null) return;
  yield* pages<ConversationAges, ConversationAges | undefined>(
    CONVERSATIONS_AT_ONCE,
    undefined,
    (after, size) => readConversationAges(database, account_id, after, size),
    (last) => last,
  );
}

/** Returns the number of removed files, and whether there may be more. */
async function removeFiles(tx: Tx, conversationId: string, days: number) {
  const removed = await markFilesRemoved(tx, conversationId, days, PURGE_BATCH);
  if (removed === undefined) return { files: 0, more: false };
  const { keys, messageIds, more } = removed;
  for (const holdings of allHoldings(tx)) await holdings.forgetFiles?.(tx, keys);
  await withdrawUploads(tx, keys);
  await enqueueChanged(
    tx,
    messageIds.map((id) => ({ event: 'message.updated', id, stream: conversationId })),
  );
  return { files: keys.length, more };
}

/** Raises `oldest` to the seconds by which the oldest row of each kind exceeds the policy. */
async function measureOldest(
  database: Database,
  policy: PolicyRow,
  oldest: Record<Retained, number>,
): Promise<void> {
  const note = (kind: Retained, age: number | null = null) => {
    const days = policy[`${kind}_days`];
    if (age !== null && days !== null) oldest[kind] = Math.max(oldest[kind], age - days * SECONDS_A_DAY);
  };
  for await (const page of conversationsUnder(database, policy)) {
    for (const { message_age, ended_age, file_age } of page) {
      note('messages', message_age);
      note('messages', ended_age);
      note('files', file_age);
    }
  }
  if (EXPIRING.some((kind) => policy[`${kind}_days`] !== null)) {
    for (const holdings of allHoldings(database)) {
      const ages = await holdings.readAges?.(database, policy.account_id);
      for (const kind of EXPIRING) note(kind, ages?.[kind]);
    }
  }
  if (policy.audit_days !== null) note('audit', await readAuditAge(database, policy.account_id));
}

/** Returns whether an age exceeds a period; false without an age. */
export function isPast(ageS: number | null, days: number): boolean {
  return ageS !== null && ageS > days * SECONDS_A_DAY;
}

function isNothing({ messages, files, notifications, runs }: Purged): boolean {
  return messages + files + notifications + runs === 0;
}

// The claim is a row of settings: it needs no connection, and expires if its node dies.
const CLAIM = statement<[nodeId: string]>('claim-retention-sweep')`
    INSERT INTO settings AS held (name, value) VALUES ('retention_sweep', $1)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, created_at = clock_timestamp()
      WHERE held.value = excluded.value OR held.created_at < clock_timestamp() - interval '${CLAIM_S} s'
    RETURNING 1`;

const RELEASE = statement<[nodeId: string]>('release-retention-sweep')`
    DELETE FROM settings WHERE name = 'retention_sweep' AND value = $1`;
