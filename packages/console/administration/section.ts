import type { ComponentType } from 'preact';

/** A resource of the API. */
export type Item = Readonly<Record<string, unknown>> & { readonly id: string };

/** States from which a resource goes on by itself. */
const UNDER_WAY: ReadonlySet<unknown> = new Set(['queued', 'pending', 'running']);

export function isUnderWay(item: Item | null): boolean {
  return UNDER_WAY.has(item?.status);
}

/**
 * A part of the administration. Operations are named by their `operationId`: method, path, fields,
 * filters and permission are in the OpenAPI document. What the server does not have, or the caller
 * may not do, is not offered.
 */
export interface Section {
  /** Its part of the path. */
  readonly slug: string;
  readonly title: string;
  /** What one of it is called. */
  readonly one: string;
  readonly about: string;
  /** Absent where there is one alone. */
  readonly list?: string;
  readonly get?: string;
  readonly create?: string;
  readonly update?: string;
  /** Sub-objects to expand, in the list and in the view of one. */
  readonly include?: { readonly list?: readonly string[]; readonly get?: readonly string[] };
  /** Paths of fields; the first names the row. */
  readonly columns: readonly string[];
  /** Fields that the view of one does not list. */
  readonly omit?: readonly string[];
  /** The field of the answer to `create` that is shown this once. */
  readonly secret?: string;
  /** Returns what a change would mean: it is asked about before it is saved. */
  readonly meaningOf?: (body: object, read: Read) => Promise<string>;
  /** Returns a resource as the body of its change, where the two differ. */
  readonly asBody?: (item: Item) => object;
  /** What can be done with one. */
  readonly actions?: readonly Action[];
  /** What can be begun from the list. */
  readonly begins?: readonly Action[];
  readonly parts?: readonly Part[];
  /** Stands above the list. */
  readonly Above?: ComponentType;
  /** Stands in for the form of `create`. */
  readonly New?: ComponentType<NewProps>;
  /** Stands in the view of one, above its parts. */
  readonly More?: ComponentType<MoreProps>;
}

/** Reads by an operation, with a query; empty values are left out. */
export type Read = (operation: string, query: object) => Promise<unknown>;

export interface NewProps {
  readonly onMade: (id: string) => void;
}

export interface MoreProps {
  readonly item: Item;
  readonly reload: () => void;
}

/** A button. Where the operation has a body, or something has to be known, it opens a dialog. */
export interface Action {
  readonly label: string;
  readonly operation: string;
  /** Whether it is offered for this one. */
  readonly when?: (item: Item) => boolean;
  /** What happens, where that cannot be undone or is worth a second look. */
  readonly warning?: string;
  readonly isDanger?: boolean;
  /** The field of the answer that is shown this once. */
  readonly secret?: string;
  /** The section that shows the answer. */
  readonly shownIn?: string;
  /** The list is shown afterwards. */
  readonly removes?: boolean;
}

/** A list that belongs to one: of an operation, or of a field. */
export type Part = {
  readonly title: string;
  readonly columns: readonly string[];
  readonly actions?: readonly Action[];
} & ({ readonly list: string; readonly shownIn?: string } | { readonly field: string });

/** Whether the item has one of these states. */
export const isStatus =
  (...states: readonly string[]) =>
  ({ status }: Item) =>
    states.includes(String(status));

export interface SectionGroup {
  readonly title: string;
  readonly sections: readonly Section[];
}
