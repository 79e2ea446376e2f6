import type { Hooks } from '../../platform/hooks.ts';

declare module '../../platform/hooks.ts' {
  interface HookTable {
    /** A node without the feature does not serve its guide. */
    guide: PlacedGuide;
  }
}

/** A guide as the documents take it (api/documents/pages/guides.ts), with its place. */
export interface PlacedGuide {
  readonly name: string;
  readonly file: URL;
  /** The place in the reading order; guides of the core have 10, 20 and so on. */
  readonly place: number;
}

/** Returns the guides of the core and of features in reading order. */
export function guidesOf(hooks: Hooks): PlacedGuide[] {
  return [...OF_CORE, ...hooks.all('guide')].sort((a, b) => a.place - b.place);
}

const OF_CORE: readonly PlacedGuide[] = Object.entries({
  'getting-started': 10,
  'chat-client': 20,
  react: 25,
  'tokens-for-pages': 30,
  files: 40,
  notifications: 50,
  cases: 60,
  sdk: 70,
  production: 80,
  saas: 85,
  'coming-from': 90,
}).map(([name, place]) => ({ name, file: new URL(`${name}.md`, import.meta.url), place }));
