import type { NamedKind } from '@parley/protocol/schema/external-ids.ts';
import type { Principal } from './principal.ts';

/** Finds resources that callers name by ids of their own. */
export interface ExternalIds {
  /**
   * Returns our id of each in the caller's account; undefined for an id that names nothing there.
   * Rejects with ApiError `resource_conflict` if an id names several resources.
   */
  find(principal: Principal, asked: readonly AskedId[]): Promise<readonly (string | undefined)[]>;
}

export interface AskedId {
  readonly kinds: readonly NamedKind[];
  readonly externalId: string;
  /** Its place in the request, as in an error. */
  readonly param: string;
}
