import { type Client, connect } from '@parley/client';
import { openStore } from '@parley/client/store';
import { KeptWriting, type Writer } from './kept-writing.ts';
import { network } from './network.ts';
import type { Session } from './session.ts';

/**
 * Connects the SDK with a session, over the network that the page can break. Messages and changes
 * that are not sent yet are kept in the browser by account and person, so that they survive a
 * reload, and so are the last pages that were read; those of an API key end with the page, as the
 * key does.
 */
export function connectAs({ account, actor, getToken }: Session): Client {
  return connect({
    url: location.origin,
    account,
    getToken,
    ...(actor !== null && { store: openStore({ account, actor, pages: { limitMb: 20 } }) }),
    ...network.options(),
  });
}

/** Removes the browser's data of a person who signs out: no kept message is sent any more. */
export async function forgetPerson({ account, actor }: Writer): Promise<void> {
  new KeptWriting({ account, actor }).clear();
  // A browser that refuses its storage has kept nothing.
  await openStore({ account, actor })
    .clear()
    .catch(() => {});
}
