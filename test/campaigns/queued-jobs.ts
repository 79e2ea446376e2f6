import { createHash, randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import { AUDIENCE } from '../identity/fixture.ts';
import { slackContents, zipped } from '../import/samples.ts';
import type { ModelServer } from '../support/model-server.ts';
import type { Random } from '../support/random.ts';
import type { TokenIssuer } from '../support/token-issuer.ts';
import { until } from '../support/until.ts';
import type { VersionPair } from '../support/version-pair.ts';

/** An acknowledged job. */
interface Begun {
  readonly what: string;
  /** Rejects if it ended otherwise than it should. */
  readonly isDone: () => Promise<boolean>;
}

/** Kinds of jobs, as callers begin them. */
const KINDS = ['export', 'erasure', 'import', 'claim', 'removal', 'redaction'] as const;
export type JobKind = (typeof KINDS)[number];

export interface JobsGround {
  readonly pair: VersionPair;
  readonly random: Random;
  /** Conversations to export, without deletions. */
  readonly conversationIds: readonly string[];
  readonly issuer: TokenIssuer;
  readonly models: ModelServer;
}

/** Jobs of every kind, begun and checked over REST through any node that lives. */
export class QueuedJobs {
  readonly problems: string[] = [];
  readonly #ground: JobsGround;
  readonly #begun: (Begun & { readonly kind: JobKind })[] = [];
  #groupId = '';
  #roleId = '';
  #widgetId = '';
  #archive: Buffer = Buffer.alloc(0);
  #count = 0;
  /** An account has one import at a time. */
  #importing: Promise<void> = Promise.resolve();

  static async open(ground: JobsGround): Promise<QueuedJobs> {
    const jobs = new QueuedJobs(ground);
    const { pair, issuer, models } = ground;
    models.otherwise(({ lastUserText }) => ({
      text: [`${lastUserText} `, ...Array.from({ length: WORDS }, (_, n) => `word ${n} `)],
      tokensPerSecond: WORDS_PER_SECOND,
    }));
    const participants = [{ type: 'user', actor_id: pair.demo.users.ada.id }];
    jobs.#groupId = await pair.made(CONVERSATIONS, { type: 'group', title: 'Files', participants });
    const roles = await pair.accepted('GET', '/v1/roles?limit=100&include[]=permissions');
    const isOfPeople = ({ permissions }: Role) => permissions.includes('messaging:update');
    jobs.#roleId = (roles.data as Role[]).find(isOfPeople)!.id;
    const identity_provider_id = await pair.made('/v1/identity-providers', {
      name: 'Application',
      issuer: issuer.origin,
      audience: AUDIENCE,
      jwks_url: issuer.keysUrl,
      person: 'customer',
      provision: 'first_use',
      subject: 'external_id',
    });
    const widget = { name: 'Shop', sites: ['https://shop.example'], identity_provider_id };
    jobs.#widgetId = await pair.made('/v1/widgets', widget);
    jobs.#archive = await zipped(slackContents(IMPORTED));
    return jobs;
  }

  private constructor(ground: JobsGround) {
    this.#ground = ground;
  }

  /** Number of acknowledged jobs, by kind. */
  get counts(): Record<JobKind, number> {
    const counts = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<JobKind, number>;
    for (const { kind } of this.#begun) counts[kind] += 1;
    return counts;
  }

  /** Begins a job. Resolves when it is acknowledged. */
  async begin(kind: JobKind): Promise<void> {
    const begun = await this.#begin[kind](this.#count++);
    if (begun !== undefined) this.#begun.push({ ...begun, kind });
  }

  /** Begins a job of each kind. */
  async beginAll(): Promise<void> {
    await Promise.all(KINDS.map((kind) => this.begin(kind)));
  }

  beginAny(): Promise<void> {
    return this.begin(this.#ground.random.pick(KINDS));
  }

  /** Returns the jobs that have not ended, by kind and id. */
  async underWay(): Promise<string[]> {
    const open: string[] = [];
    for (const { kind, what, isDone } of this.#begun) {
      if (!(await isDone().catch(() => true))) open.push(`${kind} ${what}`);
    }
    return open;
  }

  /** Waits at most `timeoutMs` for all jobs to end. Returns the number lost and done twice. */
  async finish(timeoutMs: number): Promise<{ lost: number; twice: number }> {
    const deadline = performance.now() + timeoutMs;
    let lost = 0;
    for (const { kind, what, isDone } of this.#begun) {
      const leftMs = Math.max(60_000, deadline - performance.now());
      await until(isDone, { what: 'its end', timeoutMs: leftMs }).catch((error: Error) => {
        lost += 1;
        this.problems.push(`${kind} ${what}: ${error.message}`);
      });
    }
    return { lost, twice: await this.#twice() };
  }

  readonly #begin: Record<JobKind, (n: number) => Promise<Begun | undefined>> = {
    export: async () => {
      const { pair, random, conversationIds } = this.#ground;
      const path = `${CONVERSATIONS}/${random.pick(conversationIds)}/exports`;
      const { status, body } = await pair.ask('POST', path);
      // An account has ten unfinished exports at most.
      if (status === 403) return undefined;
      if (status !== 201) throw new Error(`an export was answered ${status}`);
      return this.#job('/v1/exports', body.id, 'complete');
    },

    erasure: async (n) => {
      const { pair } = this.#ground;
      const person = { name: `Person ${n}`, email: `person-${n}@example.com`, role_id: this.#roleId };
      const { actor_id } = await pair.accepted('POST', '/v1/users', { body: person });
      const id = await pair.made(`/v1/users/${actor_id}/actions/erase`, { messages: 'remove' });
      return this.#job('/v1/erasures', id, 'complete');
    },

    import: (n) => {
      const begun = this.#importing.then(() => this.#import(n));
      this.#importing = begun
        .then(({ isDone }) => until(isDone, { what: 'the import', timeoutMs: WAIT_MS }))
        .then(
          () => undefined,
          () => undefined,
        );
      return begun;
    },

    claim: async (n) => {
      const { pair, issuer } = this.#ground;
      const path = `/v1/widgets/${this.#widgetId}/visitors`;
      const visitor = await pair.accepted('POST', path, { token: null, keyed: false, body: {} });
      const [id, visitor_token] = [String(visitor.customer_id), String(visitor.access_token)];
      const asVisitor = { token: visitor_token };
      const caseId = await pair.made(CONVERSATIONS, { type: 'group', audience: 'customer' }, asVisitor);
      const said = { body: `visitor ${n}`, client_message_id: randomUUID() };
      const messageId = await pair.made(`${CONVERSATIONS}/${caseId}/messages`, said, asVisitor);
      const token = issuer.token({ iss: issuer.origin, aud: AUDIENCE, sub: `customer ${n}` });
      const claim = { token, body: { visitor_token } };
      const { customer_id } = await pair.accepted('POST', `${path}/actions/claim`, claim);
      return {
        what: id,
        isDone: async () => {
          const read = await pair.accepted('GET', `/v1/messaging/actors?actor_ids[]=${id}`);
          if ((read.data as object[]).length > 0) return false;
          const { author_id } = await pair.accepted('GET', `/v1/messaging/messages/${messageId}`);
          if (author_id !== customer_id) throw new Error(`${messageId} is by ${author_id}`);
          return true;
        },
      };
    },

    removal: async (n) => {
      const { pair } = this.#ground;
      const key = await this.#upload(`list ${n}`);
      const fields = { body: `file ${n}`, client_message_id: randomUUID() };
      const attachments = [{ kind: 'file', s3_key: key }];
      const id = await pair.made(`${CONVERSATIONS}/${this.#groupId}/messages`, { ...fields, attachments });
      if (!this.#hasFile(key)) throw new Error(`there is no file ${key}`);
      await pair.accepted('DELETE', `/v1/messaging/messages/${id}`);
      return { what: key, isDone: async () => !this.#hasFile(key) };
    },

    redaction: async (n) => {
      const { pair } = this.#ground;
      const { users, agent } = pair.demo;
      const conversationId = await pair.made(CONVERSATIONS, {
        type: 'group',
        title: `Secrets ${n}`,
        participants: [
          { type: 'user', actor_id: users.ada.id },
          { type: 'agent', actor_id: agent.actor_id, agent_trigger_policy: 'always' },
        ],
      });
      const secret = `swordfish-${n}-x`;
      const fields = { body: secret, client_message_id: randomUUID() };
      const asAda = { token: users.ada.access_token, keyed: false };
      const id = await pair.made(`${CONVERSATIONS}/${conversationId}/messages`, fields, asAda);
      const runs = async () => {
        const path = `/v1/ai/runs?conversation_id=${conversationId}&include[]=steps&include[]=actions`;
        return (await pair.accepted('GET', path)).data as Run[];
      };
      await until(async () => (await runs()).length > 0, { what: 'the run', timeoutMs: WAIT_MS });
      await pair.accepted('POST', `/v1/messaging/messages/${id}/actions/redact`, {
        body: { reason: 'Drill' },
      });
      return {
        what: id,
        // The run has ended, by the job or with its node, and its words are gone.
        isDone: async () =>
          (await runs()).every((run) => run.completed_at !== null && !JSON.stringify(run).includes(secret)),
      };
    },
  };

  async #import(n: number): Promise<Begun> {
    const { pair } = this.#ground;
    const bytes = this.#archive;
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const wanted = { source: 'slack', size_bytes: bytes.length, sha256, origin: `drill ${n}` };
    const id = await pair.made('/v1/imports', wanted);
    await until(
      async () => {
        const address = await pair.accepted('POST', `/v1/imports/${id}/parts`, { body: { number: 1 } });
        return isPut(address as unknown as Address, bytes);
      },
      { what: 'the archive to be there', timeoutMs: WAIT_MS },
    );
    await pair.accepted('POST', `/v1/imports/${id}/actions/start`);
    return this.#job('/v1/imports', id, 'completed');
  }

  #job(path: string, id: unknown, end: string): Begun {
    const { pair } = this.#ground;
    return {
      what: String(id),
      isDone: async () => {
        const { status, error } = await pair.accepted('GET', `${path}/${id}`);
        if (['failed', 'canceled'].includes(String(status))) throw new Error(`${status}: ${error}`);
        return status === end;
      },
    };
  }

  /** Uploads a text; returns its key. */
  async #upload(text: string): Promise<string> {
    const { pair } = this.#ground;
    const wanted = { filename: 'list.txt', content_type: 'text/plain', size_bytes: text.length };
    return until(
      async () => {
        const path = '/v1/messaging/attachments/upload-url';
        const announced = await pair.accepted('POST', path, { body: wanted });
        const { s3_key, ...address } = announced as unknown as Address & { readonly s3_key: string };
        return (await isPut(address, Buffer.from(text))) ? s3_key : undefined;
      },
      { what: 'an upload', timeoutMs: WAIT_MS },
    );
  }

  #hasFile(key: string): boolean {
    return readdirSync(this.#ground.pair.dataDir, { recursive: true }).some((path) =>
      String(path).endsWith(key),
    );
  }

  /** Returns the number of exports and imports whose end is in the audit more than once. */
  async #twice(): Promise<number> {
    const ends = [...(await this.#audited('import.completed'))].map(({ details }) => details.import_id);
    for (const { details } of await this.#audited('export.completed')) ends.push(details.export_id);
    const counts = Map.groupBy(ends, (id) => id);
    let twice = 0;
    for (const { kind, what } of this.#begun) {
      if (kind !== 'import' && kind !== 'export') continue;
      const times = counts.get(what)?.length ?? 0;
      if (times !== 1) this.problems.push(`${kind} ${what} is completed ${times} times in the audit`);
      if (times > 1) twice += 1;
    }
    return twice;
  }

  async #audited(action: string): Promise<AuditEvent[]> {
    const { pair } = this.#ground;
    const events: AuditEvent[] = [];
    let url: string | null = `/v1/account/audit?action=${action}&limit=100`;
    while (url !== null) {
      const page = await pair.accepted('GET', url);
      events.push(...(page.data as AuditEvent[]));
      url = (page.page_info as { readonly next_page_url: string | null }).next_page_url;
    }
    return events;
  }
}

interface Role {
  readonly id: string;
  readonly permissions: readonly string[];
}

interface Run {
  readonly completed_at: string | null;
}

interface Address {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Uploads to an address, whose node may have died. */
async function isPut({ url, headers }: Address, bytes: Buffer): Promise<boolean> {
  const sent = { method: 'PUT', headers, body: new Uint8Array(bytes) };
  const answer = await fetch(url, sent).catch(() => undefined);
  await answer?.text().catch(() => undefined);
  return answer !== undefined && answer.status < 300;
}

const CONVERSATIONS = '/v1/messaging/conversations';
/** Messages of an archive: an import takes seconds, in which its node may die. */
const IMPORTED = 1_500;
/** A node that dies may keep callers waiting for a lease or an Idempotency-Key. */
const WAIT_MS = 5 * 60_000;
/** An answer of the model takes two minutes: it is under way when its question is redacted. */
const WORDS = 240;
const WORDS_PER_SECOND = 2;
