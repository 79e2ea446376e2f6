import type { Section } from './section.ts';

/** What each page of a section is given. */
export interface PageProps {
  readonly section: Section;
  /** Shows a notice, and a secret with it; `at` is the id that the page shows then. */
  readonly show: (text: string, secret?: string, at?: string) => void;
  /** Shows the list, one of it, or one of another section. */
  readonly open: (id?: string, section?: string) => void;
}

/** Returns the path of an endpoint with sub-objects expanded. */
export function including(path: string, parts: readonly string[] = []): string {
  return parts.length === 0 ? path : `${path}?${parts.map((part) => `include[]=${part}`).join('&')}`;
}
