import { createContext, createElement, type ReactElement, type ReactNode, useContext } from 'react';
import type { Client } from '../client.ts';

/** What ParleyProvider takes. */
export interface ParleyProviderProps {
  /**
   * From `connect`, and closed by its owner. Null on a server, where nothing is to connect, and
   * while no person is signed in: the hooks then show what is loading, and request nothing.
   */
  readonly client: Client | null;
  /** The components whose hooks use the client. */
  readonly children?: ReactNode;
}

/** Gives the hooks below it their client. */
export function ParleyProvider({ client, children }: ParleyProviderProps): ReactElement {
  return createElement(ClientContext.Provider, { value: client }, children) as ReactElement;
}

/** Returns the client of the provider above. Throws an Error if there is no provider. */
export function useClient(): Client | null {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error('There is no ParleyProvider above this component.');
  return client;
}

const ClientContext = createContext<Client | null | undefined>(undefined);
