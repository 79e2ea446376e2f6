import { connect } from '/v1/client.js';

let current = request();

/** Resolves with the ids and tokens of the demo account. */
export function session() {
  return current.then(({ value }) => value);
}

async function request() {
  const response = await fetch('/demo/session', { method: 'POST' });
  const value = await response.json();
  if (!response.ok) throw new Error(value.error.message);
  return { value, at: Date.now() };
}

/** The SDK calls it when a token expires or was refused; all panes share an answer for a while. */
async function tokenOf(key) {
  const known = await current.catch(() => undefined);
  if (known === undefined || Date.now() - known.at > SHARED_MS) current = request();
  return (await session()).people[key].token;
}

const SHARED_MS = 30_000;

/** Returns one person with a client of its own. */
export async function openPerson(key) {
  const { people, account_id: account } = await session();
  const client = connect({ url: location.origin, account, getToken: () => tokenOf(key) });
  return { ...people[key], key, client };
}
