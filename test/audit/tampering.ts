import { randomBytes } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import {
  type AuditCheckpoint,
  type AuditHead,
  type AuditLink,
  GENESIS,
  hashDetails,
  hashLink,
} from '../../src/core/audit/chain.ts';
import { readCheckpoints, readHead, readLinks } from '../../src/core/audit/chain-store.ts';
import type { Signed, SigningKey } from '../../src/core/audit/signing-key.ts';
import type { Database } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import type { Random } from '../support/random.ts';

/** The rows of a chain. `number` null: the row is as if it had never been sealed. */
export interface StoredChain {
  links: StoredLink[];
  checkpoints: Signed<AuditCheckpoint>[];
  head: Signed<AuditHead> | null;
}

type StoredLink = { -readonly [K in keyof AuditLink]: AuditLink[K] } & { unsealed?: true };

/** Reads a chain that has 10,000 links at most. */
export async function readChain(database: Database, accountId: string): Promise<StoredChain> {
  return {
    links: await readLinks(database, accountId, 0, 10_000),
    checkpoints: [...(await readCheckpoints(database, accountId))],
    head: (await readHead(database, accountId)).head,
  };
}

/** Puts this in the place of the chain, as a person can that has full access to the database. */
export async function writeChain(database: Database, accountId: string, chain: StoredChain): Promise<void> {
  const hex = (bytes: string | null, encoding: 'hex' | 'base64url') =>
    bytes === null ? null : Buffer.from(bytes, encoding).toString('hex');
  const rows = chain.links.map(({ unsealed, ...link }) => ({
    ...link,
    ...(unsealed
      ? { number: null, sealed_at: null, salt: null, details_hash: null, hash: null, erasure: null }
      : { salt: hex(link.salt, 'base64url') }),
  }));
  await database.transaction(async (tx) => {
    await tx.query(DELETE_EVENTS, accountId);
    await tx.query(DELETE_CHECKPOINTS, accountId);
    await tx.query(INSERT_EVENTS, accountId, JSON.stringify(rows));
    await tx.query(INSERT_CHECKPOINTS, accountId, JSON.stringify(chain.checkpoints));
    await tx.query(SET_HEAD, accountId, chain.head === null ? null : JSON.stringify(chain.head));
  });
}

export interface Attacker {
  readonly random: Random;
  readonly accountId: string;
  /** Its own: it has not got that of the deployment. */
  readonly signingKey: SigningKey;
  /** Heads that the deployment signed earlier. */
  readonly oldHeads: readonly Signed<AuditHead>[];
  /** Another account's chain, signed by the deployment. */
  readonly other: StoredChain;
  readonly actorId: string;
}

type Tampering = (chain: StoredChain, attacker: Attacker) => void;

/** By name. Each changes the chain in place; there are at least four links in a row at its end. */
export const TAMPERINGS = {
  'edit a field'({ links }, { random, actorId }) {
    edit(random.pick(links), random, actorId);
  },
  'edit a field and its hash'(chain, attacker) {
    const at = attacker.random.below(chain.links.length);
    edit(chain.links[at]!, attacker.random, attacker.actorId);
    recompute(chain, attacker.accountId, at, at + 1);
  },
  'edit details and what was hashed of them'({ links }, { random }) {
    const link = random.pick(links);
    const salt = randomBytes(32);
    Object.assign(link, { salt: salt.toString('base64url'), details: { forged: random.below(1_000_000) } });
    link.erasure = null;
    link.details_hash = hashDetails(salt, link.details);
  },
  'blank details'({ links }, { random }) {
    const link = random.pick(links.filter(({ salt }) => salt !== null));
    link.details = {};
    link.salt = null;
    const [donor] = links.filter(({ erasure }) => erasure !== null);
    link.erasure = random.below(2) === 0 ? null : (donor?.erasure ?? null);
  },
  'edit what stands beside': ({ links }, { random }) => {
    const link = random.pick(links);
    const field = random.pick(['hash', 'details_hash', 'salt'] as const);
    link[field] = randomBytes(32).toString(field === 'salt' ? 'base64url' : 'hex');
  },
  'reorder two'({ links }, { random }) {
    const first = random.below(links.length - 1);
    const second = first + 1 + random.below(links.length - first - 1);
    const [a, b] = [links[first]!, links[second]!];
    if (random.below(2) === 0) [a.number, b.number] = [b.number, a.number];
    else {
      const { number, ...rest } = a;
      const { number: other, ...others } = b;
      links[first] = { ...others, number };
      links[second] = { ...rest, number: other };
    }
    sort(links);
  },
  'remove one'({ links }, { random }) {
    links.splice(random.below(links.length), 1);
  },
  'remove some and close the gap'(chain, attacker) {
    const { links } = chain;
    const { random, accountId } = attacker;
    // Not the last: that would be a cut.
    const at = random.below(links.length - 3);
    const removed = links.splice(at, 1 + random.below(2)).length;
    for (const link of links.slice(at)) link.number -= removed;
    if (random.below(2) === 0) recompute(chain, accountId, at);
  },
  'insert one'(chain, attacker) {
    const { links } = chain;
    const { random, accountId } = attacker;
    const at = random.below(links.length);
    const number = links[at]!.number;
    for (const link of links.slice(at)) link.number++;
    links.splice(at, 0, { ...forged(links[at]!, random), number });
    if (random.below(2) === 0) recompute(chain, accountId, at);
  },
  'append one'(chain, attacker) {
    const { links } = chain;
    const last = links.at(-1)!;
    links.push({ ...forged(last, attacker.random), number: last.number + 1 });
    recompute(chain, attacker.accountId, links.length - 1);
  },
  'insert one of another account'({ links }, { random, other }) {
    const at = random.below(links.length);
    links[at] = { ...random.pick(other.links), number: links[at]!.number, id: newId('auditEvent') };
  },
  'cut the newest'({ links }, { random }) {
    links.splice(links.length - 1 - random.below(links.length - 1));
  },
  'cut the newest and put an old head back'(chain, { random, oldHeads }) {
    chain.head = random.pick(oldHeads);
    const { number } = chain.head;
    chain.links = chain.links.filter((link) => link.number <= number);
    chain.checkpoints = chain.checkpoints.filter(({ last }) => last <= number);
  },
  'recompute the chain'(chain, attacker) {
    const at = attacker.random.below(chain.links.length);
    edit(chain.links[at]!, attacker.random, attacker.actorId);
    recompute(chain, attacker.accountId, at);
    forgeHead(chain, attacker);
  },
  'recompute the chain and have the service seal it'(chain, { random, actorId }) {
    edit(random.pick(chain.links), random, actorId);
    for (const link of chain.links) link.unsealed = true;
    chain.checkpoints = [];
    chain.head = null;
  },
  'recompute the end and have the service seal it'(chain, { random, actorId, oldHeads }) {
    chain.head = random.pick(oldHeads);
    const { number } = chain.head;
    const end = chain.links.filter((link) => link.number > number);
    for (const link of end) link.unsealed = true;
    edit(random.pick(end), random, actorId);
  },
  'forge a head'(chain, attacker) {
    forgeHead(chain, attacker);
  },
  'purge without the key'(chain, { random, accountId, signingKey }) {
    const at = random.below(chain.links.length - 2);
    const purged = chain.links.splice(at, 1 + random.below(2));
    const content = { first: purged[0]!.number, last: purged.at(-1)!.number, hash: purged.at(-1)!.hash };
    const [model] = chain.checkpoints;
    const checkpoint =
      random.below(2) === 0 && model !== undefined
        ? { ...model, ...content }
        : signingKey.sign({
            object: 'audit_checkpoint',
            account_id: accountId,
            ...content,
            signed_at: purged[0]!.sealed_at,
          } as const);
    chain.checkpoints.push(checkpoint);
  },
  'tamper with a checkpoint'(chain, { random, other }) {
    const at = random.below(chain.checkpoints.length);
    const checkpoint = chain.checkpoints[at]!;
    const forgeries = [
      () => chain.checkpoints.splice(at, 1),
      () => Object.assign(checkpoint, { hash: chain.links[0]!.hash }),
      () => Object.assign(checkpoint, { signed_at: '2020-01-01T00:00:00.000000Z' }),
      () => Object.assign(checkpoint, { signature: other.head!.signature }),
    ];
    random.pick(forgeries)();
  },
} satisfies Readonly<Record<string, Tampering>>;

export type TamperingName = keyof typeof TAMPERINGS;

function edit(link: StoredLink, random: Random, actorId: string): void {
  const edits = [
    () => Object.assign(link, { action: `${link.action}_` }),
    () => Object.assign(link, { actor_id: link.actor_id === null ? actorId : null }),
    () => Object.assign(link, { conversation_id: newId('conversation') }),
    () => Object.assign(link, { id: newId('auditEvent') }),
    () => Object.assign(link, { created_at: shifted(link.created_at, random) }),
    () => Object.assign(link, { sealed_at: shifted(link.sealed_at, random) }),
    () => Object.assign(link, { details: { ...link.details, forged: random.below(1_000_000) } }),
  ];
  random.pick(edits)();
}

function shifted(time: string, random: Random): string {
  const ms = Date.parse(time) - 1_000 * (1 + random.below(1_000_000));
  return new Date(ms).toISOString().replace('Z', '000Z');
}

function forged(model: StoredLink, random: Random): StoredLink {
  const salt = randomBytes(32);
  const details = { forged: random.below(1_000_000) };
  const fields = { id: newId('auditEvent'), details, salt: salt.toString('base64url'), erasure: null };
  return { ...model, ...fields, details_hash: hashDetails(salt, details) };
}

/** Computes the hashes from the link at this index on, with new salts where there are details. */
function recompute(chain: StoredChain, accountId: string, from: number, to = chain.links.length): void {
  const { links, checkpoints } = chain;
  for (let at = from; at < to; at++) {
    const link = links[at]!;
    if (link.salt !== null)
      link.details_hash = hashDetails(Buffer.from(link.salt, 'base64url'), link.details);
    const before = link.number - 1;
    const previous =
      links[at - 1]?.number === before
        ? links[at - 1]!.hash
        : (checkpoints.find(({ last }) => last === before)?.hash ?? GENESIS);
    link.hash = hashLink(previous, accountId, link);
  }
}

function forgeHead(chain: StoredChain, { random, accountId, signingKey, oldHeads, other }: Attacker): void {
  const { number, hash } = chain.links.at(-1)!;
  const { head } = chain;
  const forgeries = [
    () => ({ ...head!, number, hash, signed_at: shifted(head!.signed_at, random) }),
    () =>
      signingKey.sign({ object: 'audit_head', account_id: accountId, number, hash, signed_at: '' } as const),
    () => ({
      ...signingKey.sign({
        object: 'audit_head',
        account_id: accountId,
        number,
        hash,
        signed_at: '',
      } as const),
      key_id: head!.key_id,
      public_key: head!.public_key,
    }),
    () => random.pick(oldHeads),
    () => other.head,
    () => null,
  ];
  chain.head = random.pick(forgeries)();
}

function sort(links: StoredLink[]): void {
  links.sort((a, b) => a.number - b.number);
}

const DELETE_EVENTS = statement<[accountId: string]>('tampering-delete-events')`
    DELETE FROM audit_events WHERE account_id = $1`;

const DELETE_CHECKPOINTS = statement<[accountId: string]>('tampering-delete-checkpoints')`
    DELETE FROM audit_checkpoints WHERE account_id = $1`;

const INSERT_EVENTS = statement<[accountId: string, links: string]>('tampering-insert-events')`
    INSERT INTO audit_events (id, account_id, conversation_id, actor_id, action, details, created_at, number, sealed_at,
      salt, details_hash, hash, erasure)
    SELECT l->>'id', $1, l->>'conversation_id', l->>'actor_id', l->>'action', l->'details',
      (l->>'created_at')::timestamptz, (l->>'number')::bigint, (l->>'sealed_at')::timestamptz,
      decode(l->>'salt', 'hex'), decode(l->>'details_hash', 'hex'), decode(l->>'hash', 'hex'),
      nullif(l->'erasure', 'null')
    FROM jsonb_array_elements($2::jsonb) AS l`;

const INSERT_CHECKPOINTS = statement<[accountId: string, checkpoints: string]>(
  'tampering-insert-checkpoints',
)`
    INSERT INTO audit_checkpoints (account_id, last, checkpoint)
    SELECT $1, (c->>'last')::bigint, c FROM jsonb_array_elements($2::jsonb) AS c
    ON CONFLICT DO NOTHING`;

const SET_HEAD = statement<[accountId: string, head: string | null]>('tampering-set-head')`
    UPDATE audit_chains SET head = $2::jsonb WHERE account_id = $1`;
