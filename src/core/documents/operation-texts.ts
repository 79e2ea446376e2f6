import type { Hooks } from '../../platform/hooks.ts';

declare module '../../platform/hooks.ts' {
  interface HookTable {
    /** The file with the texts of its operations. */
    operationTexts: URL;
  }
}

/**
 * Returns the files with the description of each operation of the core and of features: the
 * rules of the operation, and the errors that its schemas do not show. The route itself has the
 * permission and the version.
 */
export function operationTexts(hooks: Hooks): URL[] {
  return [...OF_CORE, ...hooks.all('operationTexts')];
}

const OF_CORE: readonly URL[] = [
  'accounts',
  'attachments',
  'audit',
  'conversations',
  'inbox',
  'installation',
  'messages',
  'notifications',
  'registration',
].map((slice) => new URL(`../${slice}/operations.md`, import.meta.url));
