import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import { PERMISSIONS, type Permission } from '@parley/protocol/permissions.ts';
import { createActor } from '../../src/core/accounts/actors/actors.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { refusalOf, type TestApp } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';

export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

export interface Person {
  readonly id: string;
  readonly roleId: string;
  readonly token: string;
}

/** A new user of the demo account whose role grants exactly this. */
export async function personWith(app: TestApp, permissions: readonly Permission[]): Promise<Person> {
  const accountId = app.demo.account_id;
  const { id, roleId } = await app.database.transaction(async (tx) => {
    const role = await createRole(tx, { accountId, name: newId('role'), permissions });
    const email = newAddress();
    const { user } = await createUser(tx, { accountId, name: 'Somebody', email, roleId: role.id });
    return { id: user.id, roleId: role.id };
  });
  return { id, roleId, token: await app.tokenOf(id) };
}

/** Returns the actors of the demo account that have this name. */
export function actorsNamed({ database, demo }: TestApp, name: string): Promise<{ id: string }[]> {
  const actors = database.kysely.selectFrom('actors').select('id');
  return actors.where('account_id', '=', demo.account_id).where('name', '=', name).execute();
}

/** An agent of the demo account that holds every permission a role can be given. */
export async function trustedAgent(app: TestApp): Promise<string> {
  const accountId = app.demo.account_id;
  const { id } = await app.database.transaction(async (tx) => {
    const role = await createRole(tx, { accountId, name: newId('role'), permissions: PERMISSIONS });
    return createActor(tx, { account_id: accountId, type: 'agent', name: 'Agent', role_id: role.id });
  });
  return app.tokenOf(id);
}

export interface Guarded {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  /** Null: admins alone. */
  readonly permission: Permission | null;
  readonly agents: boolean;
  /** Default: the demo account's. */
  readonly version?: string;
}

/**
 * Returns the refusals of this endpoint by kind of caller without the right; `agent` is omitted if
 * agents are permitted.
 */
export async function gatesOf(
  app: TestApp,
  { method, path, body, permission, agents, version = app.demo.service_version }: Guarded,
): Promise<Record<string, string>> {
  const ask = async (token: string, headers: Record<string, string | undefined> = {}) =>
    refusalOf(
      await app.call(method, path, { body, token, headers: { 'Service-Version': version, ...headers } }),
    );
  const others = await personWith(
    app,
    PERMISSIONS.filter((other) => other !== permission),
  );
  return {
    'no credential': await ask('', { Authorization: undefined }),
    'an old version': await ask(app.demo.api_key, { 'Service-Version': '1.0.harbor' }),
    'another account': await ask(app.demo.api_key, { 'Service-Account': app.demo.other_account.account_id }),
    'every other permission': await ask(others.token),
    'a reader of messages': await ask(
      permission === 'messaging:read' ? others.token : app.demo.users.vera.access_token,
    ),
    'a customer': await ask(app.demo.customer.access_token),
    ...(agents ? {} : { 'an agent with every permission': await ask(await trustedAgent(app)) }),
  };
}

/** The expected result of `gatesOf` for every endpoint. */
export function closed({ agents }: Pick<Guarded, 'agents'>): Record<string, string> {
  const forbidden = '403 insufficient_permissions null';
  return {
    'no credential': '401 invalid_credentials Authorization',
    'an old version': '400 api_version_too_old Service-Version',
    'another account': '404 resource_not_found Service-Account',
    'every other permission': forbidden,
    'a reader of messages': forbidden,
    'a customer': forbidden,
    ...(agents ? {} : { 'an agent with every permission': forbidden }),
  };
}

/** The ids of a list from its first page to its last, and back again; `path` with a limit. */
export async function walk(app: TestApp, path: string): Promise<{ forth: string[]; back: string[] }> {
  const forth: string[] = [];
  const back: string[] = [];
  let page = await read(app, path);
  for (;;) {
    forth.push(...page.data.map(({ id }) => id));
    if (page.page_info.next_page_url === null) break;
    page = await read(app, page.page_info.next_page_url);
  }
  for (;;) {
    back.unshift(...page.data.map(({ id }) => id));
    if (page.page_info.previous_page_url === null) break;
    page = await read(app, page.page_info.previous_page_url);
  }
  return { forth, back };
}

async function read(app: TestApp, path: string): Promise<List<{ id: string }>> {
  const { status, text, body } = await app.call<List<{ id: string }>>('GET', path);
  if (status !== 200) throw new Error(text);
  return body;
}
