/**
 * The demo account (README.md), with which newcomers try Parley and from which black-box checks
 * start. Its rows are made once in a database, however many nodes start on it; every start of a
 * node writes `demo.json`, with new access tokens.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { newId } from '@parley/protocol/ids.ts';
import { CURRENT_VERSION } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import type { Tokens } from '../api/access/tokens.ts';
import { createAccount } from '../core/accounts/account/accounts.ts';
import { createActor, createCustomer } from '../core/accounts/actors/actors.ts';
import { createUser } from '../core/accounts/actors/users.ts';
import { createApiKey, isValidApiKey } from '../core/accounts/keys/keys.ts';
import { findRole } from '../core/accounts/rights/roles.ts';
import { createConversation, directKeyOf } from '../core/conversations/rows/conversation-store.ts';
import type { NewParticipant } from '../core/conversations/rows/participant-store.ts';
import type { DemoAgent } from '../core/features/demo.ts';
import type { NodeParts } from '../core/features/feature.ts';
import type { Db, Tx } from '../platform/db/connection/handle.ts';
import { statement } from '../platform/db/connection/statement.ts';

/** The content of `demo.json`. */
export interface DemoFile extends Demo {
  readonly base_url: string;
  /** Where the metrics are; absent if no port has them. */
  readonly admin_url?: string | undefined;
}

export interface Demo extends Pick<DemoRows, 'conversations' | 'inbox'> {
  readonly service_version: string;
  readonly account_id: string;
  /** Has an admin role. */
  readonly api_key: string;
  readonly users: Readonly<Record<'ada' | 'grace' | 'vera', DemoUser>>;
  /** The external person of the case. */
  readonly customer: {
    readonly participant_id: string;
    readonly actor_id: string;
    readonly access_token: string;
  };
  /** A member of the group that answers when it is mentioned. */
  readonly agent: { readonly id: string; readonly actor_id: string; readonly slug: string };
  readonly other_account: { readonly account_id: string; readonly api_key: string };
}

interface DemoUser extends RowOfUser {
  /** Valid for 24 hours from the start. */
  readonly access_token: string;
}

export function demoFilePath(dataDir: string): string {
  return join(dataDir, 'demo.json');
}

/**
 * Makes whatever does not exist yet. Safe on several nodes of a database at once. API keys in the
 * file of an earlier start (`path`) are kept while they are valid.
 */
export async function seedDemo({
  database,
  tokens,
  path,
}: Pick<NodeParts, 'database' | 'tokens'> & { readonly path: string }): Promise<Demo> {
  const previous = readDemoFile(path);
  const { rows, apiKey, otherApiKey } = await database.transaction(async (tx) => {
    const rows = await demoRows(tx);
    return {
      rows,
      apiKey: await keyFor(tx, rows.accountId, previous?.api_key),
      otherApiKey: await keyFor(tx, rows.otherAccountId, previous?.other_account?.api_key),
    };
  });
  const tokenOf = async (actorId: string) => {
    const { token } = await tokens.issueAccess({ accountId: rows.accountId, actorId, ttlS: DAY_S });
    return token;
  };
  const user = async (row: RowOfUser) => ({ ...row, access_token: await tokenOf(row.id) });
  return {
    service_version: CURRENT_VERSION,
    account_id: rows.accountId,
    api_key: apiKey,
    users: {
      ada: await user(rows.users.ada),
      grace: await user(rows.users.grace),
      vera: await user(rows.users.vera),
    },
    conversations: rows.conversations,
    customer: {
      participant_id: rows.customer.participantId,
      actor_id: rows.customer.actorId,
      access_token: await tokenOf(rows.customer.actorId),
    },
    agent: { id: rows.agent.id, actor_id: rows.agent.actorId, slug: rows.agent.slug },
    inbox: rows.inbox,
    other_account: { account_id: rows.otherAccountId, api_key: otherApiKey },
  };
}

/**
 * Replaces the file atomically, readable for its owner only. Synchronous, because it is called in
 * the tick in which the server begins to listen: the file exists before the first request is
 * answered, even if the port was 0.
 */
export function writeDemoFile(
  path: string,
  demo: Demo,
  { baseUrl, adminUrl }: { readonly baseUrl: string; readonly adminUrl?: string | undefined },
): DemoFile {
  const file: DemoFile = { base_url: baseUrl, admin_url: adminUrl, ...demo };
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  mkdirSync(dirname(path), { recursive: true });
  try {
    writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  return file;
}

/** Returns undefined if there is no readable file. */
export function readDemoFile(path: string): DemoFile | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Returns two commands to paste, each on one line: one shows a conversation, one sends to it. The
 * log of a node may go anywhere, so the admin key is read from `demo.json` when a command runs.
 */
export function demoCommands(demo: DemoFile, dataDir: string): { tail: string; send: string } {
  const { group } = demo.conversations;
  const tail = `npm run -s tail -- ${group}`;
  const place = dataDir === resolve(DEFAULT_DATA_DIR) ? '' : `PARLEY_DATA_DIR=${quoted(dataDir)} `;
  const key = `$(sed -n 's/^  "api_key": "\\(.*\\)",$/\\1/p' ${quoted(demoFilePath(dataDir))})`;
  const send = [
    `curl -sS ${demo.base_url}/v1/messaging/conversations/${group}/messages`,
    `-H "Authorization: Bearer ${key}"`,
    `-H 'Service-Version: ${demo.service_version}' -H 'Service-Account: ${demo.account_id}'`,
    // A new client_message_id at each use: a repeated one would return the first message.
    `-H 'Content-Type: application/json' -d '{"body":"Hello","client_message_id":"'"$(date +%s%N)"'"}'`,
  ].join(' ');
  return { tail: `${place}${tail}`, send };
}

/** Prints to standard output. `hasPage`: whether this machine alone reaches the node. */
export function printWelcome(demo: DemoFile, dataDir: string, hasPage: boolean): void {
  const { tail, send } = demoCommands(demo, dataDir);
  const page = hasPage ? `Look at it:      ${demo.base_url}/console/\n` : '';
  process.stdout.write(`
Parley is ready at ${demo.base_url} with a demo account; its keys and ids are in ${demoFilePath(dataDir)}

${page}Read about it:   ${demo.base_url}/docs

Watch a conversation over a socket, in a second terminal:

${tail}

Send a message to it, in a third:

${send}

Ctrl-C stops everything.
`);
}

/** Returns people of the team, as whom the console is opened, with tokens of fifteen minutes. */
export async function demoSession(
  { account_id, users }: Demo,
  tokens: Pick<Tokens, 'issueAccess'>,
): Promise<object> {
  const person = async (name: string, id: string, detail: string) => {
    const { token } = await tokens.issueAccess({ accountId: account_id, actorId: id, ttlS: SESSION_S });
    return { id, name, detail, token };
  };
  return {
    account_id,
    people: {
      ada: await person(NAMES.ada, users.ada.id, 'Admin'),
      grace: await person(NAMES.grace, users.grace.id, 'Member'),
    },
  };
}

const SESSION_S = 15 * 60;
const NAMES = {
  ada: 'Ada Lovelace',
  grace: 'Grace Hopper',
  vera: 'Vera Rubin',
  carl: 'Carl Customer',
  agent: 'Assistant',
  mona: 'Mona Mailer',
} as const;

const DAY_S = 86_400;
const DEFAULT_DATA_DIR = './.data';
const SETTING = 'demo';

/** The rows of people and conversations. */
type FirstRows = Awaited<ReturnType<typeof insertRows>>;

type RowOfUser = FirstRows['users']['ada'];

/** Ids of the seeded rows, as kept in `settings`. */
export interface DemoRows extends FirstRows {
  /** An address for customers, and a case whose replies leave from it as mail. */
  readonly inbox: Awaited<ReturnType<typeof addInbox>>;
  /** Conversations of the day by app/demo/day.ts; undefined before they are written. */
  readonly day?: { readonly launch: string };
  /** The widget of the shop by app/demo/shop.ts; undefined before it was opened. */
  readonly shop?: { readonly widget: string };
}

async function demoRows(tx: Tx): Promise<DemoRows> {
  const known = await lockDemo(tx);
  if (known !== undefined) return known;
  const first = await insertRows(tx);
  const rows = { ...first, inbox: await addInbox(tx, first) };
  // They stay empty, and lists show them below the day that follows (demo/day.ts).
  await tx.kysely
    .updateTable('conversations')
    .set({ created_at: sql<string>`created_at - interval '1 day'` })
    .where('account_id', '=', rows.accountId)
    .execute();
  await extendDemo(tx, rows);
  return rows;
}

/**
 * Returns the rows of the demo account, or undefined. Makes nodes that start together wait for the
 * first one, and then read its rows: they wait here until `tx` ends.
 */
export async function lockDemo(tx: Tx): Promise<DemoRows | undefined> {
  await tx.query(LOCK_DEMO);
  const stored = await readStored(tx);
  return stored && (await areThere(tx, [stored.accountId, stored.otherAccountId])) ? stored : undefined;
}

/** Returns undefined for rows without an inbox, as an incomplete account is left alone. */
async function readStored(db: Db): Promise<DemoRows | undefined> {
  const seeded = await db.kysely
    .selectFrom('settings')
    .select('value')
    .where('name', '=', SETTING)
    .executeTakeFirst();
  const stored: DemoRows | undefined = seeded && JSON.parse(seeded.value);
  return stored?.inbox && stored;
}

/** Records what was added. Requires `lockDemo`. */
export async function extendDemo(tx: Tx, rows: DemoRows): Promise<void> {
  const value = JSON.stringify(rows);
  await tx.kysely
    .insertInto('settings')
    .values({ name: SETTING, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

/** Returns whether all accounts still exist: an operator may have deleted some. */
async function areThere(tx: Tx, accountIds: readonly string[]): Promise<boolean> {
  const rows = await tx.kysely
    .selectFrom('accounts')
    .select('id')
    .where('id', 'in', accountIds)
    .where('deleted_at', 'is', null)
    .execute();
  return rows.length === accountIds.length;
}

async function insertRows(tx: Tx) {
  const { account, roles } = await createAccount(tx, { name: 'Demo', plan: 'pro' });
  const accountId = account.id;
  const user = async (name: string, email: string, roleId: string) => {
    const { user } = await createUser(tx, { accountId, name, email, roleId });
    return { id: user.id, email: user.email };
  };
  const ada = await user(NAMES.ada, 'ada@example.com', roles.admin.id);
  const grace = await user(NAMES.grace, 'grace@example.com', roles.member.id);
  const vera = await user(NAMES.vera, 'vera@example.com', roles.viewer.id);
  const customer = await createCustomer(tx, { accountId, name: NAMES.carl, email: 'carl@example.net' });
  const agent = await demoAgent(tx, accountId, roles.agent.id);

  const owner = (actorId: string): NewParticipant => ({ type: 'user', actorId, role: 'owner' });
  const member = (actorId: string): NewParticipant => ({ type: 'user', actorId });
  const group = await createConversation(tx, {
    accountId,
    type: 'group',
    title: 'Demo group',
    participants: [
      owner(ada.id),
      member(grace.id),
      member(vera.id),
      { type: 'agent', actorId: agent.actorId, triggerPolicy: 'mention' },
    ],
  });
  const direct = await createConversation(tx, {
    accountId,
    type: 'direct_message',
    directKey: directKeyOf([ada.id, grace.id]),
    participants: [member(ada.id), member(grace.id)],
  });
  const supportCase = await createConversation(tx, {
    accountId,
    type: 'group',
    audience: 'customer',
    title: 'Where is my order?',
    participants: [owner(ada.id), member(grace.id), { type: 'customer', actorId: customer.id }],
  });
  const participant = supportCase.participants.find(({ actor_id }) => actor_id === customer.id);
  const other = await createAccount(tx, { name: 'Demo neighbour' });
  return {
    accountId,
    otherAccountId: other.account.id,
    users: { ada, grace, vera },
    conversations: {
      group: group.conversation.id,
      direct: direct.conversation.id,
      case: supportCase.conversation.id,
    },
    customer: { actorId: customer.id, participantId: participant!.id },
    agent,
  };
}

/** Makes the agent; without the agents feature, an actor that answers nothing. */
async function demoAgent(tx: Tx, accountId: string, roleId: string) {
  const agent: DemoAgent = { accountId, roleId, name: NAMES.agent, slug: 'assistant' };
  const made = await tx.hooks.first('demoAgent')?.(tx, agent);
  if (made !== undefined) return { ...made, slug: agent.slug };
  const actor = { account_id: accountId, type: 'agent', name: agent.name, role_id: roleId } as const;
  return { id: newId('agent'), actorId: (await createActor(tx, actor)).id, slug: agent.slug };
}

async function addInbox(tx: Tx, { accountId, users }: FirstRows) {
  const name = 'Demo support';
  const insert = async (address: string) => {
    const inbox = { account_id: accountId, created_by: users.ada.id, name, address };
    return { id: (await tx.hooks.first('demoInbox')?.(tx, inbox))?.id, address };
  };
  // The inbox of a demo account under removal keeps the address until it is removed.
  const { id, address } = await insert('support@demo.example').catch(() =>
    insert(`support-${randomBytes(4).toString('hex')}@demo.example`),
  );
  const customer = await createCustomer(tx, { accountId, name: NAMES.mona, email: 'mona@example.net' });
  const { conversation } = await createConversation(tx, {
    accountId,
    type: 'group',
    audience: 'customer',
    title: 'A question by mail',
    ...(id !== undefined && { mailboxId: id }),
    participants: [
      { type: 'user', actorId: users.ada.id, role: 'owner' },
      { type: 'user', actorId: users.grace.id },
      { type: 'customer', actorId: customer.id },
    ],
  });
  return { id: id ?? newId('inbox'), address, conversation: conversation.id };
}

/** Returns the last start's key while it is valid, else a new one: only hashes are stored. */
async function keyFor(tx: Tx, accountId: string, previous: string | undefined): Promise<string> {
  if (previous !== undefined && (await isValidApiKey(tx, accountId, previous))) return previous;
  const role = await findRole(tx, accountId, 'admin');
  const { key } = await createApiKey(tx, { accountId, name: 'Demo', roleId: role.id });
  return key;
}

/** Quotes the text as one word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const LOCK_DEMO = statement('lock-demo')`SELECT pg_advisory_xact_lock(hashtextextended('parley demo', 0))`;
