import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Item, Section } from './section.ts';

/** The page that a section shows, for everything on it. */
export interface Page {
  readonly section: Section;
  /** Says what an action has done. */
  readonly show: (text: string, more?: Shown) => void;
  /** Shows the list, one item, or an item of another section. */
  readonly open: (id?: string, section?: string) => void;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error('There is no page of a section above this component.');
  return page;
}

/** Details of a notice. */
interface Shown {
  /** A credential that cannot be shown again. */
  readonly secret?: string | undefined;
  /** The name of the secret's owner. */
  readonly of?: string;
  /** The id that the page shows then. */
  readonly at?: string | undefined;
  /** True if the resource of the page was removed, so that its secret is of no use. */
  readonly isGone?: boolean;
}

/** Returns the field of an answer that is shown once; undefined where there is none. */
export function secretOf(answer: Item, field: string | undefined): string | undefined {
  const secret = field === undefined ? undefined : answer[field];
  return typeof secret === 'string' ? secret : undefined;
}

/** Returns the title of a section's item. */
export function titleOf({ name, email, url, id }: Item, { title, omit = [] }: Section): string {
  return String(name ?? email ?? (omit.includes('url') ? null : url) ?? id ?? title);
}

/** Returns the path of an endpoint with sub-objects expanded. */
export function including(path: string, parts: readonly string[] = []): string {
  return parts.length === 0 ? path : `${path}?${parts.map((part) => `include[]=${part}`).join('&')}`;
}
