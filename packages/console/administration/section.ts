import type { ComponentChildren, ComponentType } from 'preact';
import type { Operation } from './api-document.ts';
import type { FieldTexts } from './field-texts.ts';

/** A resource of the API. */
export type Item = Readonly<Record<string, unknown>> & { readonly id: string };

/** States that a resource leaves by itself. */
const UNDER_WAY: ReadonlySet<unknown> = new Set(['queued', 'pending', 'running']);

export function isUnderWay(item: Item | null): boolean {
  return UNDER_WAY.has(item?.status);
}

/**
 * A part of the administration. Operations are named by their `operationId`: method, path, fields,
 * filters and permission are in the OpenAPI document. The console does not offer what the server
 * does not have, or the caller may not do.
 */
export interface Section {
  /** Its part of the path. */
  readonly slug: string;
  readonly title: string;
  /** The name of one item. */
  readonly one: string;
  readonly about: string;
  /** Absent where a section has a single item. */
  readonly list?: string;
  readonly get?: string;
  readonly create?: string;
  readonly update?: string;
  /** Sub-objects to expand, in the list and in the view of an item. */
  readonly include?: { readonly list?: readonly string[]; readonly get?: readonly string[] };
  /** Paths of fields; the first names the row. */
  readonly columns: readonly string[];
  /** Fields that the view of an item does not list. */
  readonly omit?: readonly string[];
  /** The field of the answer to `create` that is shown only once. */
  readonly secret?: string;
  /** What its forms and views say of its fields. */
  readonly texts: FieldTexts;
  /** Returns the consequences of a change, for a question before it is saved. */
  readonly meaningOf?: (body: object, read: Read) => Promise<Meaning>;
  /** Shows beside a form what its fields make. */
  readonly beside?: (value: unknown) => ComponentChildren;
  /** Returns a resource as the body of its change, where the two differ. */
  readonly asBody?: (item: Item) => object;
  /** Returns a resource with what its row shows beside its fields. */
  readonly asRow?: (item: Item) => Item;
  /** The actions on an item. */
  readonly actions?: readonly Action[];
  /** The actions that begin from the list. */
  readonly begins?: readonly Action[];
  readonly parts?: readonly Part[];
  /** Stands above the list. */
  readonly Above?: ComponentType;
  /** Stands in for the form of `create`. */
  readonly New?: ComponentType<NewProps>;
  /** Returns the first content of the form for a new one. */
  readonly begin?: () => object;
  /** Follows once one was made: returns what is said of it, with what is shown once. */
  readonly afterMade?: (made: Item, calls: Calls) => Promise<Followed>;
  /** Stands in the view of an item, above its parts. */
  readonly More?: ComponentType<MoreProps>;
}

/** The consequences of a change. */
export interface Meaning {
  readonly text: string;
  /** The text of a box that has to be ticked first, where something is lost for good. */
  readonly tick?: string;
}

/** What follows the making of a resource calls. */
export interface Calls {
  readonly offered: (id: string) => Operation | undefined;
  readonly call: (operation: Operation, request: { readonly ids: readonly string[] }) => Promise<unknown>;
}

/** What followed the making of a resource. */
export interface Followed {
  readonly text: string;
  readonly secret?: string | undefined;
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

/** A button. Where the operation has a body, or asks for something, it opens a dialog. */
export interface Action {
  readonly label: string;
  readonly operation: string;
  /** Whether it is offered for this item. */
  readonly when?: (item: Item) => boolean;
  /** The consequences, where they are final or worth a second look. */
  readonly warning?: string;
  readonly isDanger?: boolean;
  /** What its form says of its fields. */
  readonly texts?: FieldTexts;
  /** The fields of the body that it asks for. Default: all. */
  readonly fields?: readonly string[];
  /** Returns what was done, in place of its label. */
  readonly doneText?: (answer: Item) => string;
  /** The field of the answer that is shown only once. */
  readonly secret?: string;
  /** The section that shows the answer. */
  readonly shownIn?: string;
  /** Whether the list is shown afterwards. */
  readonly removes?: boolean;
}

/** A list that belongs to an item: of an operation, or of a field. */
export type Part = {
  readonly title: string;
  readonly columns: readonly string[];
  readonly actions?: readonly Action[];
} & ({ readonly list: string; readonly shownIn?: string } | { readonly field: string });

/** Returns a test of whether an item has one of these states. */
export const isStatus =
  (...states: readonly string[]) =>
  ({ status }: Item) =>
    states.includes(String(status));

export interface SectionGroup {
  readonly title: string;
  readonly sections: readonly Section[];
}
