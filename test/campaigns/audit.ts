import { setTimeout as pause } from 'node:timers/promises';
import { createActor } from '../../src/core/accounts/actors/actors.ts';
import { TamperedError } from '../../src/core/audit/chain.ts';
import { blankDetails, purgeAudit } from '../../src/core/audit/retention.ts';
import { SigningKey } from '../../src/core/audit/signing-key.ts';
import { verifyExport } from '../../src/core/audit/verify.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { log, newSigningKey, openStand, TestChain } from '../audit/fixture.ts';
import {
  type Attacker,
  readChain,
  type StoredChain,
  TAMPERINGS,
  type TamperingName,
  writeChain,
} from '../audit/tampering.ts';
import { type Cluster, createGroup, startCluster } from '../support/cluster.ts';
import { AUDIT_KEY } from '../support/node.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found } from './campaign.ts';

export interface TamperedFigures {
  readonly tamperings: number;
  /** Number of tamperings found, by name. */
  readonly found: Readonly<Record<string, number>>;
  /** Untouched chains, with erased details and purged links. */
  readonly verified: number;
  readonly problems: readonly string[];
}

/**
 * Tampers with a chain in the database, in a new way each time, and lets the service go on with it.
 * The export is verified against the one head that was kept: every tampering must be found, and an
 * untouched chain must verify.
 */
export async function tampered(
  t: Teardown,
  { seed, tamperings }: { readonly seed: number; readonly tamperings: number },
): Promise<TamperedFigures> {
  const random = new Random(seed);
  const { database, signingKey } = await openStand(t);
  const chain = await TestChain.create(database, signingKey);
  const other = await TestChain.create(database, signingKey);
  const { accountId } = chain;
  const actor = await createActor(database, { account_id: accountId, type: 'user', name: 'Mallory' });
  await other.act(5);
  await other.seal();

  // Some links are purged around a held one, some details are erased, and heads are seen on the
  // way.
  const [held, erased] = [await chain.createConversation('held'), await chain.createConversation()];
  await chain.act(6);
  await chain.act(1, held);
  await chain.act(4, erased);
  await chain.seal();
  await database.transaction((tx) => purgeAudit(tx, signingKey, { accountId, days: 0, limit: 6 }));
  await database.transaction((tx) => blankDetails(tx, signingKey, accountId, { conversationId: erased }));
  const oldHeads = [(await chain.verify()).head!];
  for (let i = 0; i < 4; i++) {
    await chain.act(3, i % 2 === 0 ? held : null);
    await chain.seal();
    oldHeads.push((await chain.verify()).head!);
  }
  const kept = oldHeads.pop()!;
  const whole = await readChain(database, accountId);
  const attacker: Attacker = {
    random,
    accountId,
    oldHeads,
    actorId: actor.id,
    signingKey: await newSigningKey(t),
    other: await readChain(database, other.accountId),
  };

  const found: Record<string, number> = {};
  const problems: string[] = [];
  let verified = 0;
  const names = Object.keys(TAMPERINGS) as TamperingName[];
  for (let i = 0; i < tamperings; i++) {
    const name = names[i % names.length]!;
    const copy: StoredChain = structuredClone(whole);
    TAMPERINGS[name](copy, attacker);
    await writeChain(database, accountId, copy);
    // The service may refuse to go on, but it must not cover anything up.
    const isSealedOn = name.endsWith('seal it') || random.below(2) === 0;
    if (isSealedOn) {
      await chain.act(1 + random.below(12));
      await chain.seal().catch(() => 0);
    }
    const refusal = await chain.verify([kept]).then(
      () => 'nothing was found',
      (error) => (error instanceof TamperedError ? undefined : String(error)),
    );
    if (refusal === undefined) found[name] = (found[name] ?? 0) + 1;
    else problems.push(`${name} (number ${i}, ${isSealedOn ? 'sealed on' : 'left alone'}): ${refusal}`);

    if (i % 10 > 0) continue;
    await writeChain(database, accountId, structuredClone(whole));
    await chain.act(1);
    await chain.seal();
    const { heads_contained, erased, purged } = await chain.verify([kept, ...oldHeads]);
    if (heads_contained === oldHeads.length + 1 && erased > 0 && purged > 0) verified++;
    else problems.push(`a chain that was not tampered with: ${heads_contained} heads`);
  }
  return { tamperings, found, verified, problems };
}

export interface SealedFigures {
  readonly changes: number;
  readonly kills: number;
  readonly links: number;
  readonly heads: number;
  /** Milliseconds from the insert of a change to its seal, kills included. */
  readonly sealMs: { readonly p50: number; readonly p99: number };
  readonly problems: readonly string[];
}

export interface SealedOptions {
  readonly seed: number;
  /** Callers that each change a conversation, one change after another. */
  readonly callers: number;
  readonly changesPerCaller: number;
  readonly kills: number;
  /** Default: a cluster of its own. */
  readonly cluster?: Cluster;
}

/**
 * Two nodes under a load of audited changes, one of which is killed again and again. In the end
 * every row is in the one chain of the account, each caller's changes are in the order of their
 * answers, and the chain contains every head that either node has ever shown.
 */
export async function sealedUnderKills(t: Teardown, options: SealedOptions): Promise<SealedFigures> {
  const { seed, callers, changesPerCaller, kills } = options;
  const random = new Random(seed);
  const cluster = options.cluster ?? (await startCluster(t));
  const database = await openDatabase({ url: cluster.databaseUrl, log });
  t.teardown(() => database.close());
  const signingKey = await SigningKey.open({ key: AUDIT_KEY, oldKeys: [], dataDir: '' });
  const { account_id: accountId } = cluster.nodes[0].demo;
  const chain = new TestChain(database, signingKey, accountId);
  const heads: object[] = [];
  let changes = 0;
  let done = false;
  // The loops below would go on if the test failed in the middle.
  t.teardown(() => {
    done = true;
  });

  const groups = await Promise.all(
    Array.from({ length: callers }, (_, i) => createGroup(cluster.nodes[1], `Audited ${i}`)),
  );
  const work = groups.map(async (id, caller) => {
    for (let n = 1; n <= changesPerCaller; n++) {
      // A change whose answer was lost is repeated, which changes nothing if it was committed.
      await until(
        async () => {
          const node = cluster.nodes[caller % 2 === 0 ? 1 : ((n % 2) as 0 | 1)];
          const body = { title: `${caller} ${n}` };
          const answer = await node
            .call('PATCH', `/v1/messaging/conversations/${id}`, body)
            .catch(() => pause(20).then(() => undefined));
          return answer?.status === 200;
        },
        { what: 'a change' },
      );
      changes++;
    }
  });
  const watch = (async () => {
    while (!done) {
      for (const node of cluster.nodes) {
        const head = await headOf(node.baseUrl, node.headers()).catch(() => undefined);
        if (head !== undefined) heads.push(head);
      }
      await pause(50);
    }
  })();
  // Transactions that commit long after they wrote, as a node may do.
  const late = (async () => {
    while (!done) {
      await database.transaction(async (tx) => {
        await chain.actIn(tx);
        await pause(random.below(400));
      });
    }
  })();
  for (let i = 0; i < kills; i++) {
    const from = changes;
    await until(
      () =>
        changes >= from + Math.floor((callers * changesPerCaller) / (kills + 1) / 2) ||
        changes === callers * changesPerCaller,
      {
        what: 'changes',
      },
    );
    await pause(random.below(300));
    await cluster.nodes[0].kill('SIGKILL');
    await cluster.restart(0);
  }
  await Promise.all(work);
  done = true;
  await Promise.all([watch, late]);

  const problems: string[] = [];
  await until(async () => (await chain.unsealed()) === 0, { what: 'every row to be sealed' });
  const lines = await chain.lines();
  const { links } = await verifyExport({ lines, trusted: signingKey.trusted, heads }).catch((error) => {
    problems.push(String(error));
    return { links: 0 };
  });
  const written = await chain.rows();
  if (links !== written) problems.push(`${links} links of ${written} rows`);
  problems.push(...disorderIn(lines, groups));
  return { changes, kills, links, heads: heads.length, sealMs: delaysIn(lines, groups), problems };
}

function delaysIn(lines: readonly string[], groups: readonly string[]): SealedFigures['sealMs'] {
  const delays = lines
    .map((line) => JSON.parse(line))
    .filter(({ conversation_id: id }) => groups.includes(id))
    .map(({ created_at: from, sealed_at: to }) => Date.parse(to) - Date.parse(from))
    .sort((a, b) => a - b);
  const at = (part: number) => delays[Math.floor(delays.length * part)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Returns a line for each conversation whose renamings are incomplete or out of order. */
function disorderIn(lines: readonly string[], groups: readonly string[]): string[] {
  const titles = new Map<string, string[]>(groups.map((id) => [id, []]));
  for (const line of lines) {
    const { action, conversation_id, details } = JSON.parse(line);
    if (action === 'conversation.renamed') titles.get(conversation_id)?.push(details.to);
  }
  return [...titles].flatMap(([id, found]) => {
    const numbers = found.map((title) => Number(title.split(' ')[1]));
    return numbers.every((number, i) => number === i + 1) ? [] : [`${id}: ${numbers.join(' ')}`];
  });
}

async function headOf(baseUrl: string, headers: Record<string, string>): Promise<object> {
  const response = await fetch(`${baseUrl}/v1/account/audit/head`, {
    headers: { ...headers, 'Service-Version': '1.2.harbor', Connection: 'close' },
    signal: AbortSignal.timeout(10_000),
  });
  if (response.status !== 200) throw new Error(await response.text());
  return (await response.json()) as object;
}

interface AuditFigures extends TamperedFigures, Found {
  readonly sealed: SealedFigures;
}

export const auditCampaign = campaign({
  whole: () => ({ tamperings: 1_000, callers: 8, changesPerCaller: 400, kills: 12 }),
  run,
});

async function run(
  t: Teardown,
  { seed, tamperings, ...load }: { readonly tamperings: number } & SealedOptions,
): Promise<AuditFigures> {
  const figures = await tampered(t, { seed, tamperings });
  const sealed = await sealedUnderKills(t, { seed, ...load });
  return {
    ...figures,
    sealed,
    problems: [...figures.problems, ...sealed.problems],
  };
}
