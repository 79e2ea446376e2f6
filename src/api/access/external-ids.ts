import type { NamedKind } from '@parley/protocol/schema/external-ids.ts';
import type { Principal } from './principal.ts';

/** Finds what callers name by ids of their own. */
export interface ExternalIds {
  /**
   * Returns our id of each in the account of the caller; undefined for one that names nothing
   * there. Rejects with ApiError `resource_conflict` if one names several resources.
   */
  find(principal: Principal, asked: readonly AskedId[]): Promise<readonly (string | undefined)[]>;
}

export interface AskedId {
  readonly kinds: readonly NamedKind[];
  readonly externalId: string;
  /** Where the request has it, as in an error. */
  readonly param: string;
}
