import { createContext, createElement, type ReactElement, type ReactNode, useContext } from 'react';
import type { Client } from '../client.ts';

/** The props of ParleyProvider. */
export interface ParleyProviderProps {
  /**
   * A client from `connect`, closed by its owner. Null on a server and while no person is signed
   * in: the hooks then show the loading state, and request nothing.
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
