import type { FormParts } from '@parley/ui/form/form-context.ts';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { useSignedIn } from '../session/session-context.tsx';
import { type ApiDocument, filled, type Operation } from './api-document.ts';
import { specialFields } from './choices.ts';

export const ApiContext = createContext<ApiDocument | null>(null);

/** The contract, and the caller's part in it. */
export interface Administration {
  readonly api: ApiDocument;
  /** Returns the operation if this server has it and the caller may call it. */
  readonly offered: (id: string | undefined) => Operation | undefined;
  /** Sends a request for an operation; `ids` fill its path. */
  readonly call: (operation: Operation, request?: OperationCall) => Promise<unknown>;
  /** Returns the replacement of a text field, if it has one. */
  readonly special: FormParts['special'];
}

interface OperationCall {
  readonly query?: URLSearchParams;
  readonly ids?: readonly string[];
  readonly body?: object;
}

export function useAdministration(): Administration {
  const api = useContext(ApiContext);
  if (api === null) throw new Error('There is no administration above this component.');
  const { client, can } = useSignedIn();
  const offered: Administration['offered'] = (id) => {
    const operation = id === undefined ? undefined : api.operation(id);
    const isOffered = operation?.permission === undefined || can(operation.permission);
    return isOffered ? operation : undefined;
  };
  return {
    api,
    offered,
    special: specialFields(offered, client),
    call: ({ method, path }, { ids = [], query, body } = {}) =>
      client.fetch<unknown>(`${filled(path, ids)}${query === undefined ? '' : `?${query}`}`, {
        method,
        ...(body !== undefined && { body }),
      }),
  };
}
